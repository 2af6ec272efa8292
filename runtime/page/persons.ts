import {mayBe} from '../device/device-owner.ts'
import type {PersonState} from '../device/person-status.ts'
import {withDeadline} from '../platform/deadline.ts'
import {createObservable} from '../platform/observable.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {isSamePerson, type Person} from '../protocol/person.ts'
import {tellListeners} from '../protocol/tell-listeners.ts'
import {boundParts, personGone} from './bound-parts.ts'
import {flushEdits} from './edit-outbox.ts'
import {latest} from './latest.ts'
import type {PageParts} from './page-parts.ts'
import {createSessions} from './page-runtime.ts'
import {
  namedAtStart,
  ownerOf,
  type PeopleIndex,
  type Place,
  placeFor,
  removed,
  signedOut,
  switchedTo,
  wiping,
  withOnline,
  withOwner,
} from './people.ts'

/** Milliseconds that the start waits for the server to identify the person. */
const startPatienceMs = 2_000

/** The opened database of one person. */
export type Opened<Extra> = {parts: PageParts; extra: Extra; close(): Promise<void>}

export type PersonsHost<Extra> = {
  index: PeopleIndex
  open(place: Place, person: Person | null): Promise<Opened<Extra>>
  /** Deletes the database and all its companion files. Returns false when another tab still uses it. */
  remove(place: Place): Promise<boolean>
  /** The person that the application's token or cookies identify now; null without one. */
  me(): Promise<Person | null>
  /** The server has named another person than the owner of the open database. */
  onOther(person: Person): void
}

export type Current<Extra> = Opened<Extra> & {place: Place; sessions: ReturnType<typeof createSessions>}

/**
 * Keeps the database of one person open, the same in every tab, and switches to another person's. During a switch no
 * database is open, so no page shows one person's data to another. [ID-6]
 */
export class Persons<Extra> {
  readonly state = createObservable<PersonState | null>(null)
  #current: (Current<Extra> & {stop(): void}) | null = null
  #isSignedOut = false
  #closed = false
  #turn: Promise<void> = Promise.resolve()
  #recording: Promise<unknown> = Promise.resolve()
  #wiping: Place | null = null
  /** The database that a running switch has closed, so that a call made before the next one is open is known as its own. */
  #left: Place | null = null
  /** The person that the server named before a database was opened, until compared with the first database's owner. */
  #named: Person | null = null
  readonly #listeners = new Set<() => void>()
  readonly #stopIndex: () => void

  constructor(private readonly host: PersonsHost<Extra>) {
    this.#stopIndex = host.index.onChange(() => void this.follow().catch(() => undefined))
  }

  get current(): Current<Extra> | null {
    return this.#current
  }

  get isSignedOut(): boolean {
    return this.#isSignedOut
  }

  /** Calls `listener` when another database was opened, or none is open. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Opens the last database. After a sign-out, asks the server whether someone has signed in. */
  start(): Promise<void> {
    const turn = this.#start()
    this.#turn = turn
    return turn
  }

  async #start(): Promise<void> {
    const {current, cut} = await this.host.index.read()
    if (current === null || !cut.includes(current)) await this.#askWhoStarts()
    await this.#follow()
    void this.finishRemovals().catch(() => undefined)
  }

  /**
   * The server is asked first, so that a new person never sees the previous person's data. Offline, the last person
   * stays.
   */
  async #askWhoStarts(): Promise<void> {
    const asking = this.host.me().catch(() => null)
    const person = await withDeadline(startPatienceMs, 'who is signed in', asking).catch(() => null)
    if (person) {
      this.#named = person
      const fresh = await placeFor(person)
      await this.host.index.change(people => namedAtStart(people, person, fresh))
    } else if ((await this.host.index.read()).current === null) {
      // No database is open that would ask again later, so a late answer is used here.
      const signIn = async (late: Person | null) => {
        if (late && this.#isSignedOut) await this.switchTo(late)
      }
      void asking.then(signIn).catch(() => undefined)
    }
  }

  /**
   * Returns the open database, after a running switch. If the switch opened another person's database, the call is
   * refused: what one person requested is never done in the name of the next.
   */
  async ready(): Promise<Current<Extra>> {
    const asked = this.#current?.place ?? this.#left
    const fault = await this.#turn.then(() => null, HoldfastError.from)
    if (this.#current && (asked ?? this.#current.place) === this.#current.place) return this.#current
    if (this.#current) throw personGone()
    if (this.#closed) throw new HoldfastError('peer_gone', 'This runtime was closed.')
    throw fault ?? new HoldfastError('unauthenticated', 'Nobody is signed in on this device.')
  }

  /** Opens or closes databases to match the index. */
  follow(): Promise<void> {
    const turn = this.#turn.catch(() => undefined).then(() => this.#follow())
    this.#turn = turn
    return turn
  }

  async switchTo(person: Person): Promise<void> {
    const change = this.#recordSwitch(person)
    const recorded = change.catch(() => undefined)
    this.#recording = Promise.all([this.#recording, recorded])
    await change
    await this.follow()
  }

  async #recordSwitch(person: Person): Promise<void> {
    const fresh = await placeFor(person)
    // After `close`, the caller may delete the folder, so nothing is written.
    if (!this.#closed) await this.host.index.change(people => switchedTo(people, person, fresh))
  }

  /** Opens the database of the person that the application's token or cookies identify now. */
  async switchPerson(): Promise<{unsent: number; person: Person}> {
    const unsent = await this.unsent()
    const person = await this.host.me()
    if (!person) throw new HoldfastError('unauthenticated', 'Nobody is signed in: the application has no token.')
    const owner = this.state.get()
    const same = this.#current && owner?.tenant === person.tenant && owner.subject === person.subject
    if (!same) await this.#bring(person)
    return {unsent, person}
  }

  async signOut(): Promise<{unsent: number}> {
    const unsent = await this.unsent()
    const place = this.#current?.place
    // Another tab may have switched to another person in the meantime.
    await this.host.index.change(people => (people.current === (place ?? people.current) ? signedOut(people) : people))
    await this.follow()
    return {unsent}
  }

  async wipe({discardUnsent = false}: {discardUnsent?: boolean | number | undefined} = {}): Promise<{unsent: number}> {
    const {place, parts} = await this.ready()
    await flushEdits(parts.edits)
    const unsent = await this.#closeForWipe(parts, discardUnsent === true ? null : Number(discardUnsent))
    this.#wiping = place
    try {
      // A pending record of this person would add them to the index again after the wipe.
      await this.#recording
      await this.host.index.change(people => wiping(people, place))
      await this.follow()
    } finally {
      this.#wiping = null
    }
    await this.#remove(place)
    return {unsent}
  }

  /** With `discardUnsent: true`, a database that cannot be opened is deleted as well. */
  async #closeForWipe({service}: PageParts, most: number | null): Promise<number> {
    const closing = service.closeForWipe(most)
    return await (most === null ? closing.catch(() => this.state.get()?.unsent ?? 0) : closing)
  }

  async setOnline(online: boolean): Promise<void> {
    const {place, sessions} = await this.ready()
    await sessions.setOnline(online)
    await this.host.index.change(people => withOnline(people, place, online))
  }

  async unsent(): Promise<number> {
    const asked = this.#current?.parts.service.person().catch(() => this.state.get())
    return (await asked)?.unsent ?? this.state.get()?.unsent ?? 0
  }

  /** Deletes databases that could not be deleted before because another tab had them open. */
  async finishRemovals(): Promise<void> {
    for (const place of (await this.host.index.read()).removing) await this.#remove(place).catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopIndex()
    await this.#turn.catch(() => undefined)
    await this.#leave()
    await this.#recording
  }

  /** A database without an owner becomes this person's; no other database is opened. */
  async #bring(person: Person): Promise<void> {
    const owner = await this.#current?.parts.service.person()
    if (this.#current && !owner) return await this.#current.parts.service.hurry()
    await this.switchTo(person)
  }

  async #follow(): Promise<void> {
    if (this.#closed) return
    const people = await this.host.index.read()
    this.#isSignedOut = people.current === null
    if (people.current === (this.#current?.place ?? null)) return this.#tell()
    await this.#leave()
    try {
      if (people.current === null) return
      if (people.removing.includes(people.current)) await this.#remove(people.current)
      await this.#enter(people.current, ownerOf(people, people.current))
    } finally {
      this.#left = null
    }
  }

  async #leave(): Promise<void> {
    const left = this.#current
    this.#current = null
    this.#left = left?.place ?? null
    left?.stop()
    this.state.set(null)
    this.#tell()
    await left?.close()
  }

  async #enter(place: Place, person: Person | null): Promise<void> {
    const opened = await this.host.open(place, person)
    const named = person ? null : this.#named
    this.#named = null
    if (named && !(await mayShow(opened.parts, named))) {
      await opened.close()
      const fresh = await placeFor(named)
      const people = await this.host.index.change(now => switchedTo(now, named, fresh))
      return await this.#enter(people.current ?? fresh, named)
    }
    let isOpen = true
    const parts = boundParts(opened.parts, () => isOpen)
    const stops = [
      latest(
        parts,
        'person',
        () => parts.service.person(),
        state => this.#took(place, state),
      ),
      parts.listen('other', other => this.host.onOther(other)),
    ]
    const stop = () => {
      isOpen = false
      for (const each of stops) each()
    }
    this.#current = {...opened, parts, place, sessions: createSessions(parts), stop}
    this.#tell()
  }

  #took(place: Place, state: PersonState | null): void {
    this.state.set(state)
    if (!state?.tenant || place === this.#wiping) return
    const person = {tenant: state.tenant, subject: state.subject} as Person
    const record = async () => {
      const owner = ownerOf(await this.host.index.read(), place)
      if (owner && isSamePerson(owner, person)) return
      await this.host.index.change(now => (now.removing.includes(place) ? now : withOwner(now, place, person)))
    }
    // If this fails, the next change of the person's state tries again.
    this.#recording = this.#recording.then(record).catch(() => undefined)
  }

  async #remove(place: Place): Promise<void> {
    if (await this.host.remove(place)) await this.host.index.change(people => removed(people, place))
  }

  #tell(): void {
    tellListeners(this.#listeners, undefined)
  }
}

/** The index has no owner for this database, so the database must state its owner before its data is shown. */
async function mayShow({service}: PageParts, person: Person): Promise<boolean> {
  // If it cannot be opened, later calls report that.
  const owner = await service.person().catch(() => null)
  return !owner || mayBe(owner, person)
}
