import {useEffect, useMemo, useState, useSyncExternalStore} from 'react'
import {addressOf} from '../address.ts'
import type {Role} from '../components/device-panel.tsx'
import {pageMarks} from '../crash-mark.ts'
import {navigate, type Run, useLatest} from '../hooks.ts'
import type {
  BrowserRuntime,
  Connection,
  Opening,
  PersonState,
  Session,
  SessionListItem,
  SessionView,
} from '../runtime-types.ts'
import {useServices} from '../services.ts'
import {useDrafts} from '../unsent.ts'
import {type Missing, missingWords} from '../words/missing.ts'
import {wholeCharacters} from '../words/whole-characters.ts'
import {markedSubscription, useShown} from './use-crash-marks.ts'

const connecting: Connection = {state: 'connecting', detail: ''}
const starting: Opening = {state: 'opening', step: 'script', since: 0, attempt: 1, cause: null, nextAt: null}

export function useRuntime(run: Run): BrowserRuntime | null {
  const services = useServices()
  const [runtime, setRuntime] = useState<BrowserRuntime | null>(null)
  useEffect(() => {
    void run(async () => setRuntime(await services.runtime()))
  }, [services, run])
  return runtime
}

/** Who the runtime works for, and what of theirs is unsent. */
export function usePerson(runtime: BrowserRuntime | null): PersonState | null {
  const source = runtime?.person
  return useSyncExternalStore(source?.subscribe ?? never, source?.get ?? nobody)
}

const never = () => () => undefined
const nobody = () => null

export function useDevice(runtime: BrowserRuntime | null) {
  const subscriptions = useMemo(
    () =>
      runtime && {
        sessions: runtime.subscribeSessions.bind(runtime),
        connection: runtime.subscribeConnection.bind(runtime),
        role: runtime.subscribeRole.bind(runtime),
        opening: runtime.opening.subscribe,
      },
    [runtime],
  )
  return {
    sessions: useLatest<SessionListItem[] | null>(subscriptions?.sessions ?? null, null),
    connection: useLatest(subscriptions?.connection ?? null, connecting),
    role: useLatest<Role>(subscriptions?.role ?? null, 'starting'),
    opening: useLatest<Opening>(subscriptions?.opening ?? null, starting),
    person: usePerson(runtime),
  }
}

/**
 * The session that the address names; one that this device does not have yet is asked for again when the connection is
 * there. A new conversation has none until its first message.
 */
export function useSession(
  runtime: BrowserRuntime | null,
  id: string | null,
  {connection, opening}: {connection: Connection; opening: Opening},
) {
  const [opened, setOpened] = useState<Session | null>(null)
  const [failed, setFailed] = useState<{attempt: string; missing: Missing} | null>(null)
  const session = opened?.id === id ? opened : null
  const here = session !== null
  // While the desk is not open it says why: a conversation that cannot be shown for that reason is no second fault.
  const ready = opening.state === 'open'
  const attempt = `${id} ${connection.state === 'live' || connection.state === 'polling' ? 'with' : 'without'} the server`
  useEffect(() => {
    let current = true
    if (!runtime || !ready || id === null || here) return
    runtime.openSession({session: id}).then(
      session => current && setOpened(session),
      (error: unknown) => current && setFailed({attempt, missing: missingWords(error)}),
    )
    return () => {
      current = false
    }
  }, [runtime, ready, id, here, attempt])
  const subscribe = useMemo(() => session && markedSubscription(session), [session])
  const view = useLatest<SessionView | null>(subscribe, null)
  useShown(view)
  const missing = id !== null && view === null && failed?.attempt === attempt ? failed.missing : null
  return {session, view, missing, opening: id !== null && view === null && missing === null}
}

/** Opens the conversation that was used last, once, when the address names none and no new one has been begun. */
export function useResumeLatest(sessions: SessionListItem[] | null, id: string | null): void {
  const {kept} = useDrafts()
  const [done, setDone] = useState(id !== null)
  useEffect(() => {
    if (done || sessions === null) return
    setDone(true)
    const latest = sessions.find(session => !pageMarks.crashed(session.id))
    if (latest && id === null && kept('new') === '') navigate(addressOf(latest.id), {replace: true})
  }, [done, sessions, id, kept])
}

/** What was typed into a conversation and never sent is a copy of what is erased with it. [RET-2] */
export function useErasedUnsent(sessions: SessionListItem[] | null): void {
  const {forget} = useDrafts()
  useEffect(() => {
    for (const {id, erased} of sessions ?? []) if (erased) forget(id)
  }, [sessions, forget])
}

/** The first words, cut between words, so that the list can be told apart. */
export function titleFrom(text: string): string {
  const line = text.trim().split('\n')[0] ?? ''
  return line.length <= 60 ? line : `${wholeCharacters(line, 60).replace(/\s+\S*$/, '')}…`
}
