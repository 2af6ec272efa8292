import {useCallback, useState} from 'react'
import {HoldfastError} from '../../runtime/index.ts'
import {addressOf} from '../address.ts'
import {navigate, type Run} from '../hooks.ts'
import {pagePerson} from '../page-person.ts'
import type {BrowserRuntime, BusyPolicy, Connection, Session} from '../runtime-types.ts'
import {forgetSendIds, sendIds} from '../send-ids.ts'
import {useServices} from '../services.ts'
import {untilValue} from '../until-value.ts'
import {titleFrom} from './use-desk.ts'

/** Where a text goes: a conversation, or a new one. It is also what its unsent text is kept under. */
export type SendKey = string
export const newConversation: SendKey = 'new'

export type Sending = {
  send(key: SendKey, text: string, policy?: BusyPolicy): Promise<boolean>
  /** True while a text for this conversation waits for it to open. */
  waits(key: SendKey): boolean
  /** What was to be sent stays in the field. */
  takeBack(key: SendKey): void
}

/**
 * Sends each text to the conversation that it was typed for, once, as soon as that is open: whatever else is opened
 * meanwhile. A text that cannot be sent stays where it was typed. When the person leaves, what waits is not sent: it stays
 * with what they have not sent, for when they are back. [ID-6]
 */
export function useSending(run: Run): Sending {
  const services = useServices()
  const [waiting, setWaiting] = useState<ReadonlyMap<SendKey, AbortController>>(new Map())
  const note = useCallback((key: SendKey, stop: AbortController | null) => {
    setWaiting(before => {
      const after = new Map(before)
      if (stop) after.set(key, stop)
      else after.delete(key)
      return after
    })
  }, [])
  const send = useCallback(
    async (key: SendKey, text: string, policy: BusyPolicy = 'steer') => {
      let sent = false
      const stop = new AbortController()
      const person = pagePerson.get()
      const stopWatching = pagePerson.subscribe(() => stop.abort())
      await run(async () => {
        note(key, stop)
        try {
          const runtime = await services.runtime()
          const session = await openFor(runtime, {person, key, text}, stop.signal)
          if (!session) return
          note(key, null)
          const taken = await session.send(text, {policy, id: sendIds(person, key, text).message})
          forgetSendIds(person, key, text)
          sent = true
          if (taken.id !== key && !stop.signal.aborted && isShown(key)) navigate(addressOf(taken.id))
        } catch (error) {
          // Who has left is told nothing, and who is here now did not write it.
          if (pagePerson.get() === person) throw await withoutServer(services.runtime(), error)
        } finally {
          stopWatching()
          note(key, null)
        }
      }, `send:${key}`)
      return sent
    },
    [services, run, note],
  )
  return {
    send,
    waits: key => waiting.has(key),
    takeBack: key => waiting.get(key)?.abort(),
  }
}

type Typed = {person: string; key: SendKey; text: string}

/** The session that the text goes to, once it is open; null when the text was taken back before. */
async function openFor(
  runtime: BrowserRuntime,
  {person, key, text}: Typed,
  stop: AbortSignal,
): Promise<Session | null> {
  while (!stop.aborted) {
    await untilValue(runtime.opening, ({state}) => state === 'open' || state === 'failed', stop)
    await untilNamed(runtime, stop)
    if (stop.aborted) break
    try {
      if (key !== newConversation) return await runtime.openSession({session: key})
      return await runtime.openSession({agent: 'desk', title: titleFrom(text), id: sendIds(person, key, text).session})
    } catch (error) {
      if (runtime.opening.get().state === 'open' && !(await comesWithConnection(runtime, error, stop))) throw error
    }
  }
  return null
}

/** On a new device nobody is known until the server has named somebody, and that may be another person than expected. */
async function untilNamed(runtime: BrowserRuntime, stop: AbortSignal): Promise<void> {
  if (runtime.person.get() || runtime.opening.get().state !== 'open') return
  const named = new AbortController()
  const unsubscribe = runtime.person.subscribe(() => named.abort())
  const end = AbortSignal.any([stop, named.signal])
  await untilValue(connectionOf(runtime), ({state}) => ['cut', 'unauthenticated'].includes(state), end)
  unsubscribe()
}

/**
 * A conversation that this device does not have may be with the server: that is known once the connection is there. The
 * person sees that the text waits, and can take it back.
 */
async function comesWithConnection(runtime: BrowserRuntime, error: unknown, stop: AbortSignal): Promise<boolean> {
  if (!HoldfastError.is(error, 'not_found', 'offline', 'unauthenticated')) return false
  const states: Connection['state'][] = []
  await untilValue(connectionOf(runtime), ({state}) => states.push(state) > 0 && !isAway(state), stop)
  const [first = 'live', last = first] = [states[0], states.at(-1)]
  return stop.aborted || (isAway(first) && ['live', 'polling'].includes(last))
}

function isAway(state: Connection['state']): boolean {
  return state === 'connecting' || state === 'unreachable'
}

/** Without the server, "nobody is signed in" only means that a new device does not know who it is. */
async function withoutServer(opened: Promise<BrowserRuntime>, error: unknown): Promise<unknown> {
  if (!HoldfastError.is(error, 'unauthenticated')) return error
  const states: Connection['state'][] = []
  await untilValue(connectionOf(await opened), ({state}) => states.push(state) > 0, AbortSignal.timeout(connectionMs))
  if (!states.includes('unreachable') && !states.includes('cut')) return error
  return new HoldfastError('offline', 'The server cannot be reached, so it is not known who is signed in.', {
    cause: error,
  })
}

/** The connection is published at once; without it the error stays as it is. */
const connectionMs = 20_000

function connectionOf(runtime: BrowserRuntime) {
  return {subscribe: (listener: (connection: Connection) => void) => runtime.subscribeConnection(listener)}
}

function isShown(key: SendKey): boolean {
  return (new URL(location.href).searchParams.get('session') ?? newConversation) === key
}
