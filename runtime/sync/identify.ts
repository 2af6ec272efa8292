import {HoldfastError} from '../protocol/errors.ts'
import type {Person} from '../protocol/person.ts'
import type {CuttableLink} from './http-link.ts'

export type IdentityParts = {
  link: Pick<CuttableLink, 'me' | 'actFor'>
  /** Whose database this is; false when it is somebody else's, and then nothing is sent or fetched. [ID-6] */
  claim(person: Person): Promise<boolean>
  /** The server has named somebody else than the owner of this database. */
  onOtherPerson?(person: Person): void
}

/**
 * Asks the server who this device is, before anything is sent or fetched: a token says nothing to us, and a cookie is
 * not even seen. Until the answer requests wait; after a failure they fail with it, until it is asked again. [ID-6]
 */
export class Identity {
  #asking: Promise<void> | null = null
  #known = false
  #wasKnown = false

  constructor(
    private readonly parts: IdentityParts,
    /** A request was refused because somebody else has signed in meanwhile. */
    private readonly onOther: () => void,
  ) {}

  /** Requests wait from here on. */
  forget(): void {
    this.#known = false
    this.parts.link.actFor(null)
  }

  /** Asks unless it is known. */
  async know(): Promise<void> {
    if (!this.#known) await this.ask()
  }

  /** What is read before the first answer may still be in nobody's name. A failure is told by the request that follows. */
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
        throw new HoldfastError('other_person', 'Somebody else is signed in; nothing of this person is sent meanwhile.')
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

/** A server of an earlier build has no such route; what it would be sent might be taken in another's name. */
function orTooOld(error: unknown): never {
  if (!HoldfastError.is(error, 'not_found')) throw error
  const message =
    'The server is older than this app and cannot say who is signed in; nothing is sent until it is updated.'
  throw new HoldfastError('version_mismatch', message, {cause: error})
}
