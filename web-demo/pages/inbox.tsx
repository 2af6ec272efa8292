import {useSyncExternalStore} from 'react'
import {ApprovalCard} from '../components/approval-card.tsx'
import {Banner} from '../components/banner.tsx'
import {Part} from '../components/boundary.tsx'
import {DecidedList} from '../components/decided-list.tsx'
import {DecidingDevices} from '../components/deciding-devices.tsx'
import {DelegationPanel} from '../components/delegation-panel.tsx'
import {KeptDecisions} from '../components/kept-decisions.tsx'
import {LeftNote} from '../components/left-note.tsx'
import {PersonChoice} from '../components/person-choice.tsx'
import {Problems} from '../components/problems.tsx'
import {StatusDot} from '../components/status-dot.tsx'
import {UncertainCard} from '../components/uncertain-card.tsx'
import {UpdateNote} from '../components/update-note.tsx'
import {useAction} from '../hooks.ts'
import {leftPersons} from '../left-persons.ts'
import type {Person} from '../people.ts'
import type {InboxState} from '../runtime-types.ts'
import {leaveInbox} from '../sign-in.ts'
import {clock} from '../words/approval.ts'
import {connectionWords} from '../words/session.ts'
import {useInbox} from './use-inbox.ts'
import {useShop} from './use-shop.ts'

/** The approvals of one person; a sign-out in any tab ends them in every tab. [ID-6] */
export function InboxPage({person}: {person: Person}) {
  const left = useSyncExternalStore(leftPersons.subscribe, () => leftPersons.has(person))
  if (!left) return <Inbox person={person} />
  return (
    <main className="page">
      <div className="page-head">
        <h1>Approvals</h1>
        <PersonChoice person={person} />
      </div>
      <UpdateNote runtime={null} />
      <LeftNote person={person} onSignIn={() => leftPersons.remove(person)} />
    </main>
  )
}

function Inbox({person}: {person: Person}) {
  const {inbox, state} = useInbox(person)
  const {problems, run, dismiss} = useAction()
  const {shop} = useShop(15_000)
  // Before anything was ever seen there is nothing to show, not even that there is nothing.
  const seen = state !== null && state.seenAt !== null
  const open = state?.items.filter(item => item.status === 'open') ?? []
  const decided = state?.items.filter(item => item.status !== 'open') ?? []
  const uncertain = state?.uncertain ?? []
  const signOut = async () => {
    await inbox?.signOut()
    leaveInbox(person)
  }
  return (
    <main className="page">
      <div className="page-head">
        <h1>Approvals</h1>
        {state && <StatusDot {...connectionWords(state.connection)} />}
        <PersonChoice person={person} />
        <button type="button" className="button button-small" disabled={!inbox} onClick={() => void run(signOut)}>
          Sign out
        </button>
      </div>
      <UpdateNote runtime={null} />
      <Problems problems={problems} onDismiss={dismiss} />
      {state && <OutOfReach state={state} />}
      <Part name="What you decided on this device" shows={state}>
        <KeptDecisions decisions={state?.decisions ?? []} onDismiss={nonce => run(async () => inbox?.dismiss(nonce))} />
      </Part>
      <p className="visually-hidden" aria-live="polite">
        {seen ? `${open.length} waiting for a decision` : 'Opening the approvals'}
      </p>
      {!seen && <p className="skeleton-lines" aria-hidden="true" />}
      {seen && open.length === 0 && uncertain.length === 0 && <NothingOpen />}
      <ul className="approvals">
        {uncertain.map(item => (
          <li key={item.operation}>
            <Part name="An outcome that is not known" shows={item}>
              <UncertainCard
                item={item}
                onSettle={said => run(async () => inbox?.settle(item.operation, {...said, digest: item.digest}))}
              />
            </Part>
          </li>
        ))}
        {open.map(item => (
          <li key={item.approval}>
            <Part name="An approval" shows={item}>
              <ApprovalCard
                item={item}
                order={shop?.orders.find(order => order.id === orderOf(item.shown.input)) ?? null}
                mustWait={state?.connection.state === 'unreachable' && state.ownKey === null}
                kept={state?.decisions.some(
                  ({signed, refused}) => !refused && signed.intent.approval === item.approval,
                )}
                onDecide={(verdict, note) =>
                  run(async () => inbox?.decide(item.approval, {verdict, digest: item.digest, ...(note && {note})}))
                }
              />
            </Part>
          </li>
        ))}
      </ul>
      {decided.length > 0 && (
        <Part name="The list of decisions" shows={state}>
          <DecidedList items={decided} />
        </Part>
      )}
      {inbox && seen && (
        <Part name="Lending your role" shows={state}>
          <DelegationPanel person={person} inbox={inbox} run={run} />
        </Part>
      )}
      {inbox && seen && (
        <Part name="The list of your devices" shows={state}>
          <DecidingDevices inbox={inbox} state={state} />
        </Part>
      )}
    </main>
  )
}

/** What is on the screen may be old, and what is pressed here does not count yet. [APP-4] */
function OutOfReach({state: {connection, seenAt, ownKey}}: {state: InboxState}) {
  if (connection.state !== 'unreachable' || seenAt === null) return null
  return (
    <Banner tone="waiting">
      The server is out of reach. This is what it showed at {clock(seenAt)}.{' '}
      {ownKey
        ? 'What you decide now is signed and kept on this device; the server looks at it again before it counts.'
        : 'This device cannot decide offline, so decisions have to wait for the connection.'}
    </Banner>
  )
}

function NothingOpen() {
  return (
    <div className="page-empty">
      <h2>Nothing waits for you</h2>
      <p>
        A refund above €50.00 shows up here the moment the desk proposes it; above €300.00 two people have to say yes.
        You see exactly what will be paid.
      </p>
    </div>
  )
}

function orderOf(input: unknown): unknown {
  return typeof input === 'object' && input !== null && 'orderId' in input ? input.orderId : null
}
