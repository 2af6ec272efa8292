import {HoldfastError} from '../protocol/errors.ts'
import {isSamePerson, type Person} from '../protocol/person.ts'
import {httpLink} from '../sync/http-link.ts'
import type {PageParts} from './page-parts.ts'
import type {Persons} from './persons.ts'

/** Milliseconds after which a token that was asked for is taken for one that does not come. */
const patienceMs = 30_000

type Switch = Pick<Persons<unknown>, 'switchTo'>

/** Brings this page's tokens to the database that is open, and sees to it that they only ever reach their own person's. */
export type PageIdentity = {
  start(persons: Switch): void
  /** Whom the page's token or cookie names now; null without one. */
  me(): Promise<Person | null>
  /** A worker that goes with cookies was told by the server that they are somebody else's. */
  named(person: Person): void
  /** Brings a token whenever the owner of the database asks for one. Returns a function that stops it. */
  bringTo(parts: PageParts): () => void
}

/**
 * The owner of the database may live in another tab, so every page brings a token when one is asked for. Tabs may hold
 * tokens of different persons: a page changes the person of all tabs only when its own token has come to name another, so
 * that two tabs never take turns. [ID-6]
 */
export function pageIdentity(url: string | null, token: (() => Promise<string | null>) | null): PageIdentity {
  let persons: Switch | null = null
  let last: Person | null = null

  /** Null when nobody is signed in; a function that fails or hangs says nothing about that. */
  const ask = async (): Promise<string | null> => {
    if (!token) return null
    try {
      return await within(patienceMs, token())
    } catch (cause) {
      throw new HoldfastError('offline', 'The application could not bring a token; it is asked again.', {cause})
    }
  }
  const nameOf = async (held: string | null): Promise<Person | null> => {
    if (url === null || (token && held === null)) return null
    return await httpLink({url, ...(held !== null && {token: async () => held})}).me()
  }

  async function switchIfNew(person: Person): Promise<void> {
    if (last && isSamePerson(last, person)) return
    last = person
    await persons?.switchTo(person)
  }

  async function bring({service}: PageParts): Promise<void> {
    const held = await ask().catch(() => undefined)
    if (held === undefined) return await service.setToken(null, true)
    if (held === null) return await service.setToken(null)
    // The owner of the database asks again, before it sends or fetches anything.
    const isCut = (await service.connection()).state === 'cut'
    const person = isCut ? null : await nameOf(held).catch(() => null)
    const owner = person && (await service.person())
    const isOwners = !owner || (owner.subject === person?.subject && (owner.tenant ?? person.tenant) === person.tenant)
    if (person && !isOwners) {
      await service.setToken(null)
      return await switchIfNew(person)
    }
    if (person) last = person
    await service.setToken(held)
  }

  return {
    start: given => {
      persons = given
    },
    async me() {
      const held = await ask()
      const person = await nameOf(held).catch(error => {
        if (HoldfastError.is(error, 'unauthenticated', 'token_expired')) return null
        throw error
      })
      last = person
      return person
    },
    named: person => {
      if (token === null) void switchIfNew(person).catch(() => undefined)
    },
    bringTo(parts) {
      if (!token) return () => undefined
      let asking: Promise<void> | null = null
      // A function that hangs is asked once; the owner asks again, with back-off, as long as it has none.
      const soon = () => {
        if (asking) return
        asking = bring(parts)
          .catch(() => undefined)
          .finally(() => {
            asking = null
          })
      }
      const stops = [parts.listen('token', soon), parts.listen('other', soon), parts.onOwnerChange(soon)]
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no token came')), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
