import {withDeadline} from '../platform/deadline.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {isSamePerson, type Person} from '../protocol/person.ts'
import {httpLink} from '../sync/http-link.ts'
import type {PageParts} from './page-parts.ts'
import type {Persons} from './persons.ts'

/** Milliseconds after which a token function is treated as failed. */
const patienceMs = 30_000

type Switch = Pick<Persons<unknown>, 'switchTo'>

/** Gives this page's tokens to the open database, and only if they belong to the database's owner. */
export type PageIdentity = {
  start(persons: Switch): void
  /** The person that the page's token or cookies identify now; null without one. */
  me(): Promise<Person | null>
  /** The server told a worker that the page's cookies belong to another person. */
  named(person: Person): void
  /** Provides a token whenever the database's owner asks for one. Returns a function that stops it. */
  bringTo(parts: PageParts): () => void
}

/**
 * The database's owner may be another tab, so every page provides a token when one is requested. Tabs may hold tokens
 * of different persons. A page changes the person of all tabs only when its own token starts to name another person, so
 * two tabs never switch back and forth. [ID-6]
 */
export function pageIdentity(url: string | null, token: (() => Promise<string | null>) | null): PageIdentity {
  let persons: Switch | null = null
  let last: Person | null = null

  /** Null when no person is signed in. Throws when the function fails or does not answer, which says nothing about that. */
  const ask = async (): Promise<string | null> => {
    if (!token) return null
    try {
      return await withDeadline(patienceMs, 'The token function', token())
    } catch (cause) {
      throw new HoldfastError('offline', 'The application did not provide a token. It will be asked again.', {cause})
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
    const {held, failed} = await ask().then(
      token => ({held: token, failed: null}),
      ({cause}: HoldfastError) => ({held: null, failed: HoldfastError.is(cause) ? cause.message : true}),
    )
    if (failed !== null) return await service.setToken(null, failed)
    if (held === null) return await service.setToken(null)
    // While the connection is off, the server is not asked. The database's owner verifies the person before it sends
    // anything.
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
      // Calls the token function once at a time. The database's owner requests again, with back-off, while it has no
      // token.
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
