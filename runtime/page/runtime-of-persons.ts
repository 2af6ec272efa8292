import type {PersonState} from '../device/person-status.ts'
import {parse} from '../protocol/errors.ts'
import type {MemoryView} from '../protocol/memory-view.ts'
import type {Person} from '../protocol/person.ts'
import type {Connection, SessionListItem} from '../protocol/session-view.ts'
import {tellListener} from '../protocol/tell-listeners.ts'
import {listenerOf} from './listener-argument.ts'
import type {Runtime} from './open-runtime.ts'
import type {Memory} from './page-memory.ts'
import {refuseOptions, wipeOptions} from './person-arguments.ts'
import type {Current, Persons} from './persons.ts'

/** The person who uses this runtime; null until the server has named one, and after a sign-out. [ID-6] */
export interface PersonSource {
  get(): PersonState | null
  /** Calls `listener` after every change. Returns an unsubscribe function. */
  subscribe(listener: (person: PersonState | null) => void): () => void
}

/** Methods of a runtime that concern the person who uses it. */
export interface PersonActions {
  readonly person: PersonSource
  /**
   * Closes this person's database in all tabs and keeps it on the device. `unsent`: how many entries are sent only
   * after they sign in again.
   *
   * @example const {unsent} = await runtime.signOut()
   */
  signOut(): Promise<{unsent: number}>
  /**
   * Reads the application's token or cookies again and opens the database of the person that they identify, in all
   * tabs. `unsent`: how many unsent entries the previous person leaves on this device.
   *
   * @throws HoldfastError `unauthenticated` without a token, `offline` when the server cannot be reached
   * @example const {person} = await runtime.switchPerson()
   */
  switchPerson(): Promise<{unsent: number; person: Person}>
  /**
   * Signs out and deletes everything that this device stores of this person. Data on the server stays. `discardUnsent`:
   * how many unsent entries may be lost, for example the number that a dialog has shown; true: any number. Default: 0.
   *
   * @throws HoldfastError `refused` with `details.unsent` when more is unsent, `bad_input`; then nothing is deleted
   * @example const {unsent} = runtime.person.get() ?? {unsent: 0} if (confirm(`${unsent} entries will be lost.`)) await runtime.wipe({discardUnsent: unsent})
   */
  wipe(options?: {discardUnsent?: boolean | number}): Promise<{unsent: number}>
}

const noMemory: MemoryView = {entries: [], queued: 0, unread: []}
const nobody: Connection = {state: 'unauthenticated', detail: 'Nobody is signed in on this device.'}
const changing: Connection = {state: 'connecting', detail: ''}

/** A runtime for the person who is signed in. Subscriptions continue across persons; sessions end with their person. */
export function runtimeOfPersons<Extra>(persons: Persons<Extra>): Omit<Runtime, 'close'> {
  const here = async () => (await persons.ready()).sessions
  const connection = () => (persons.isSignedOut ? nobody : changing)
  return {
    person: {
      get: () => persons.state.get(),
      subscribe: listener => persons.state.listen(listenerOf(listener, 'person.subscribe')),
    },
    signOut: async (...given: unknown[]) => {
      refuseOptions(given, 'signOut', '`wipe` deletes the data of the person')
      return await persons.signOut()
    },
    switchPerson: async (...given: unknown[]) => {
      refuseOptions(given, 'switchPerson', 'the token or cookies of the application identify the person')
      return await persons.switchPerson()
    },
    wipe: async options => persons.wipe(parse(wipeOptions, options, 'wipe')),
    openSession: async target => (await here()).openSession(target),
    subscribeSessions: listener =>
      across<Extra, SessionListItem[]>(
        persons,
        ({sessions}) => sessions.subscribeSessions,
        () => [],
        listenerOf(listener, 'subscribeSessions'),
      ),
    subscribeConnection: listener =>
      across(
        persons,
        ({sessions}) => sessions.subscribeConnection,
        connection,
        listenerOf(listener, 'subscribeConnection'),
      ),
    memory: memoryOf(persons),
    passport: async run => (await here()).passport(run),
    exportRun: async run => (await here()).exportRun(run),
    viewOf: async (run, step) => (await here()).viewOf(run, step),
    setOnline: online => persons.setOnline(online),
  }
}

function memoryOf<Extra>(persons: Persons<Extra>): Memory {
  const here = async () => (await persons.ready()).sessions.memory
  return {
    list: async () => (await here()).list(),
    recall: async ask => (await here()).recall(ask),
    accept: async id => (await here()).accept(id),
    correct: async (shown, text) => (await here()).correct(shown, text),
    forget: async (id, options) => (await here()).forget(id, options),
    subscribe: listener =>
      across(
        persons,
        ({sessions}) => sessions.memory.subscribe,
        () => noMemory,
        listenerOf(listener, 'memory.subscribe'),
      ),
  }
}

/** Follows a source of the current person. While none is open, the listener gets an empty value. */
export function across<Extra, Value>(
  persons: Persons<Extra>,
  sourceOf: (current: Current<Extra>) => (listener: (value: Value) => void) => () => void,
  empty: () => Value,
  listener: (value: Value) => void,
): () => void {
  let from: Current<Extra> | null = null
  let stop: () => void = () => undefined
  const follow = () => {
    const {current} = persons
    if (current && current === from) return
    stop()
    stop = () => undefined
    // While the first database opens, nothing is known yet, so no empty value is reported.
    if (from || persons.isSignedOut) tellListener(listener, empty())
    from = current
    if (current) stop = sourceOf(current)(listener)
  }
  const stopFollowing = persons.onChange(follow)
  follow()
  return () => {
    stopFollowing()
    stop()
  }
}
