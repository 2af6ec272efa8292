import {useCallback, useState, useSyncExternalStore} from 'react'
import {addressOf} from '../address.ts'
import {Banner} from '../components/banner.tsx'
import {Composer} from '../components/composer.tsx'
import {ConnectionNote} from '../components/connection-note.tsx'
import {Conversation} from '../components/conversation.tsx'
import {CrashedNote} from '../components/crashed-note.tsx'
import {DeskBar} from '../components/desk-bar.tsx'
import {DeskSkeleton} from '../components/desk-skeleton.tsx'
import {Drawer} from '../components/drawer.tsx'
import {EmptyDesk} from '../components/empty-desk.tsx'
import {EndedNote} from '../components/ended-note.tsx'
import {MissingNote} from '../components/missing-note.tsx'
import {ModelViewDialog} from '../components/model-view-dialog.tsx'
import {Notices} from '../components/notices.tsx'
import {OpeningNote} from '../components/opening-note.tsx'
import {Problems} from '../components/problems.tsx'
import {RunFoot} from '../components/run-foot.tsx'
import {SessionList} from '../components/session-list.tsx'
import {SessionMenu} from '../components/session-menu.tsx'
import {SidePanel} from '../components/side-panel.tsx'
import {SignedOutNote} from '../components/signed-out-note.tsx'
import {navigate, useAction} from '../hooks.ts'
import {personName} from '../people.ts'
import type {StepRef} from '../runtime-types.ts'
import {become, signIn} from '../sign-in.ts'
import {useDrafts} from '../unsent.ts'
import {endedWords} from '../words/closing.ts'
import {isUnderWay} from '../words/session.ts'
import {standingSentence} from '../words/standing.ts'
import {useAvoided} from './use-crash-marks.ts'
import {useDevice, useErasedUnsent, useResumeLatest, useRuntime, useSession} from './use-desk.ts'
import {newConversation, useSending} from './use-sending.ts'

export function Desk({sessionId}: {sessionId: string | null}) {
  const {problems, run, dismiss} = useAction()
  const runtime = useRuntime(run)
  const device = useDevice(runtime)
  const signedOut = useSyncExternalStore(signIn.subscribe, signIn.get) === null && device.person === null
  const {kept, moveToNew} = useDrafts()
  const {avoided, retry: retryShowing} = useAvoided(sessionId)
  const {session, view, opening, missing} = useSession(runtime, avoided ? null : sessionId, device)
  const sending = useSending(run)
  const [drawer, setDrawer] = useState<'sessions' | 'details' | null>(null)
  const [lookedAt, setLookedAt] = useState<StepRef | null>(null)
  const [standing, setStanding] = useState<{session: string; sentence: string | null} | null>(null)
  useResumeLatest(device.sessions, sessionId)
  useErasedUnsent(device.sessions)

  const open = useCallback((id: string | null) => {
    setDrawer(null)
    navigate(addressOf(id))
  }, [])
  const sendTo = sessionId ?? newConversation
  const away = device.opening.state === 'open' && device.connection.state === 'unreachable'
  const awaited = away ? 'server' : 'opening'
  const stop = () => void run(async () => session?.cancel(`Stopped by ${personName(device.person?.subject ?? '')}.`))
  const branch = useCallback(
    (after: number) => {
      if (!session) return
      void run(async () => {
        const made = await session.fork({after})
        setStanding({session: made.id, sentence: standingSentence(made.standing)})
        open(made.id)
      })
    },
    [session, run, open],
  )

  const divergence = {
    choose: (choice: 'keep' | 'merge' | 'discard') =>
      run(async () => {
        const there = await session?.resolveDivergence(choice)
        if (there && there.id !== sessionId) open(there.id)
      }),
    restore: () => void run(async () => session?.restoreDivergence()),
    open,
  }

  const close = async (reason: string) =>
    session?.close(reason || `Closed by ${personName(device.person?.subject ?? '')}.`)
  const ended = view && endedWords(view)
  const goOn = () => {
    if (sessionId) moveToNew(sessionId)
    open(null)
  }
  const list = <SessionList sessions={device.sessions} current={sessionId} onOpen={open} />
  const side = <SidePanel runtime={runtime} session={session} view={view} {...device} run={run} />
  return (
    <main className="desk">
      <aside className="desk-sessions" aria-label="Conversations">
        {list}
      </aside>
      <div className="desk-centre">
        <DeskBar
          view={view}
          connection={device.connection}
          opening={device.opening}
          signedOut={signedOut}
          left={
            <Drawer
              side="left"
              title="Conversations"
              icon="list"
              open={drawer === 'sessions'}
              onOpenChange={on => setDrawer(on ? 'sessions' : null)}
            >
              {list}
            </Drawer>
          }
          menu={view && <SessionMenu view={view} connection={device.connection.state} onClose={close} />}
          right={
            <Drawer
              side="right"
              title="Reply and details"
              icon="panel"
              open={drawer === 'details'}
              onOpenChange={on => setDrawer(on ? 'details' : null)}
            >
              {side}
            </Drawer>
          }
        />
        <Notices runtime={runtime} />
        {away && <ConnectionNote connection={device.connection} isNew={device.person === null} />}
        {view && <OpeningNote opening={device.opening} above />}
        <Problems problems={problems} onDismiss={dismiss} />
        {standing?.session === sessionId && standing?.sentence && (
          <Banner tone="waiting" onDismiss={() => setStanding(null)}>
            {standing.sentence}
          </Banner>
        )}
        {signedOut ? (
          <SignedOutNote onSignIn={person => void run(() => become(person, runtime))} />
        ) : avoided && sessionId !== null ? (
          <CrashedNote session={sessionId} onRetry={retryShowing} />
        ) : view ? (
          <Conversation
            session={session}
            view={view}
            run={run}
            onBranch={branch}
            onLook={setLookedAt}
            divergence={divergence}
          />
        ) : missing ? (
          <MissingNote {...missing} />
        ) : opening || device.sessions === null ? (
          <DeskSkeleton opening={device.opening} />
        ) : (
          <EmptyDesk onTry={text => void sending.send(newConversation, text)} />
        )}
        {view && (
          <RunFoot
            view={view}
            onRetry={() => void run(async () => session?.retry())}
            onTakeOver={() => void run(async () => session?.takeOver())}
            onExtend={() => void run(async () => session?.extend())}
            onStop={stop}
            connection={device.connection.state}
            onContinueOffline={() => void run(async () => session?.continueOffline())}
          />
        )}
        {signedOut || avoided || (missing && kept(sendTo) === '') ? null : ended ? (
          <EndedNote ended={ended} unsent={sessionId !== null && kept(sessionId) !== ''} onNew={goOn} />
        ) : (
          <Composer
            keptUnder={sendTo}
            view={view}
            underWay={view !== null && isUnderWay(view.status)}
            waiting={sending.waits(sendTo) ? awaited : null}
            onSend={(text, policy) => sending.send(sendTo, text, policy)}
            onTakeBack={() => sending.takeBack(sendTo)}
            onStop={stop}
          />
        )}
      </div>
      <aside className="desk-side" aria-label="Reply and details">
        {side}
      </aside>
      <ModelViewDialog runtime={runtime} step={lookedAt} run={run} onClose={() => setLookedAt(null)} />
    </main>
  )
}
