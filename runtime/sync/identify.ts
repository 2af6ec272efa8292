import {HoldfastError} from '../protocol/errors.ts'
import type {Person} from '../protocol/person.ts'
import type {CuttableLink} from './http-link.ts'

export type IdentityParts = {
  link: Pick<CuttableLink, 'me' | 'actFor'>
  /**
   * Claims the database for this person. Returns false when it belongs to another person; then nothing is sent or
   * fetched. [ID-6]
   */
  claim(person: Person): Promise<boolean>
  /** The server has named another person than the owner of this database. */
  onOtherPerson?(person: Person): void
}

/**
 * Asks the server who the caller is, before anything is sent or fetched: the device cannot read a token, and does not
 * see a cookie. Until the response, requests wait; after a failure they fail with it, until the next try. [ID-6]
 */
export class Identity {
  #asking: Promise<void> | null = null
  #known = false
  #wasKnown = false

  constructor(
    private readonly parts: IdentityParts,
    /** A request was refused because another person has signed in. */
    private readonly onOther: () => void,
  ) {}

  /** From now on, requests wait for the identity. */
  forget(): void {
    this.#known = false
    this.parts.link.actFor(null)
  }

  /** Asks the server unless the person is known. */
  async know(): Promise<void> {
    if (!this.#known) await this.ask()
  }

  /**
   * Before the first response no person is named, so the first turn waits for it. A failure is reported by the request
   * that follows.
   */
  async knowFirst(): Promise<void> {
    if (!this.#wasKnown) await this.know().catch(() => undefined)
  }

  ask(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #ask(): Promise<void> {
    const {link, claim, onOtherPerson} = this.parts
    this.forget()
    try {
      const person = await link.me().catch(orTooOld)
      if (!(await claim(person))) {
        onOtherPerson?.(person)
        throw new HoldfastError('other_person', 'Another person is signed in, so nothing of this person is sent.')
      }
      link.actFor(person, () => {
        this.#known = false
        this.onOther()
      })
      this.#known = true
      this.#wasKnown = true
    } catch (error) {
      link.actFor(HoldfastError.from(error, 'offline'))
      throw error
    }
  }
}

/** A server of an earlier build lacks this route. Data sent to it could be stored under another person's name. */
function orTooOld(error: unknown): never {
  if (!HoldfastError.is(error, 'not_found')) throw error
  const message =
    'The server is older than this app and cannot identify the person; nothing is sent until it is updated.'
  throw new HoldfastError('version_mismatch', message, {cause: error})
}
