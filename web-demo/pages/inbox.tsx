import {useEffect, useState} from 'react'
import {ApprovalCard} from '../components/approval-card.tsx'
import {Banner} from '../components/banner.tsx'
import {DecidedList} from '../components/decided-list.tsx'
import {StatusDot} from '../components/status-dot.tsx'
import {useAction} from '../hooks.ts'
import type {Inbox, InboxState} from '../runtime-types.ts'
import {useServices} from '../services.ts'
import {connectionWords} from '../words/session.ts'
import {useShop} from './use-shop.ts'

export function InboxPage() {
  const {inbox, state} = useInbox()
  const {problem, run, dismiss} = useAction()
  const {shop} = useShop(15_000)
  const open = state?.items.filter(item => item.status === 'open') ?? []
  const decided = state?.items.filter(item => item.status !== 'open') ?? []
  return (
    <main className="page">
      <div className="page-head">
        <h1>Approvals</h1>
        {state && <StatusDot {...connectionWords(state.connection)} />}
      </div>
      {problem && (
        <Banner tone="bad" onDismiss={dismiss}>
          {problem}
        </Banner>
      )}
      <p className="visually-hidden" aria-live="polite">
        {state ? `${open.length} waiting for a decision` : 'Opening the approvals'}
      </p>
      {state === null && <p className="skeleton-lines" aria-hidden="true" />}
      {state !== null && open.length === 0 && <NothingOpen />}
      <ul className="approvals">
        {open.map(item => (
          <li key={item.approval}>
            <ApprovalCard
              item={item}
              order={shop?.orders.find(order => order.id === orderOf(item.shown.input)) ?? null}
              onDecide={(verdict, note) =>
                run(async () => inbox?.decide(item.approval, {verdict, digest: item.digest, ...(note && {note})}))
              }
            />
          </li>
        ))}
      </ul>
      {decided.length > 0 && <DecidedList items={decided} />}
    </main>
  )
}

function NothingOpen() {
  return (
    <div className="page-empty">
      <h2>Nothing waits for you</h2>
      <p>A refund above €50.00 shows up here the moment the desk proposes it. You see exactly what will be paid.</p>
    </div>
  )
}

function useInbox(): {inbox: Inbox | null; state: InboxState | null} {
  const services = useServices()
  const [held, setHeld] = useState<{inbox: Inbox; state: InboxState | null} | null>(null)
  useEffect(() => {
    const inbox = services.inbox()
    setHeld({inbox, state: null})
    const unsubscribe = inbox.subscribe(state => setHeld({inbox, state}))
    return () => {
      unsubscribe()
      inbox.close()
    }
  }, [services])
  return held ?? {inbox: null, state: null}
}

function orderOf(input: unknown): unknown {
  return typeof input === 'object' && input !== null && 'orderId' in input ? input.orderId : null
}
