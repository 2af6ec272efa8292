import {useCallback, useState} from 'react'
import {HoldfastError} from '../../runtime/index.ts'
import {addressOf} from '../address.ts'
import {navigate, type Run} from '../hooks.ts'
import {pagePerson} from '../page-person.ts'
import type {BrowserRuntime, BusyPolicy, Session} from '../runtime-types.ts'
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
  const connection = {subscribe: runtime.subscribeConnection.bind(runtime)}
  const end = AbortSignal.any([stop, named.signal, AbortSignal.timeout(connectionMs)])
  await untilValue(connection, ({state}) => ['cut', 'unreachable', 'unauthenticated'].includes(state), end)
  unsubscribe()
}

/** A connection that is not there by then is no reason to wait any longer without a word. */
const connectionMs = 20_000

/** A conversation that this device does not have may be with the server: that is known once the connection is there. */
async function comesWithConnection(runtime: BrowserRuntime, error: unknown, stop: AbortSignal): Promise<boolean> {
  if (!HoldfastError.is(error, 'not_found', 'offline', 'unauthenticated')) return false
  const states: string[] = []
  const connection = {subscribe: runtime.subscribeConnection.bind(runtime)}
  const patience = AbortSignal.any([stop, AbortSignal.timeout(connectionMs)])
  await untilValue(connection, ({state}) => states.push(state) > 0 && state !== 'connecting', patience)
  return states[0] === 'connecting' && ['live', 'polling'].includes(states.at(-1) ?? '')
}

/** While the server cannot be reached, "nobody is signed in" only means that a new device does not know who it is. */
async function withoutServer(opened: Promise<BrowserRuntime>, error: unknown): Promise<unknown> {
  if (!HoldfastError.is(error, 'unauthenticated')) return error
  const runtime = await opened
  const states: string[] = []
  const connection = {subscribe: runtime.subscribeConnection.bind(runtime)}
  await untilValue(connection, ({state}) => states.push(state) > 0, AbortSignal.timeout(connectionMs))
  if (!states.includes('unreachable')) return error
  return new HoldfastError('offline', 'The server cannot be reached, so it is not known who is signed in.', {
    cause: error,
  })
}

function isShown(key: SendKey): boolean {
  return (new URL(location.href).searchParams.get('session') ?? newConversation) === key
}
