import {HoldfastError} from '../protocol/errors.ts'
import {type Person, personHeader, personHeaderOf} from '../protocol/person.ts'

type Gate = {
  opened: Promise<Record<string, string>>
  open(headers: Record<string, string>): void
  shut(error: HoldfastError): void
}

/**
 * The person that a link's requests act for: not named until the first `set`, then named, waiting, or refused. [ID-6]
 */
export class Caller {
  #headers: Promise<Record<string, string>> = Promise.resolve({})
  #gate: Gate | null = null
  #named: string | null = null
  #onOther: () => void = () => undefined

  set(who: Person | null | HoldfastError, onOther: () => void = () => undefined): void {
    if (who === null) {
      this.#gate ??= gate()
      this.#headers = this.#gate.opened
      this.#named = null
      return
    }
    const waiting = this.#gate
    this.#gate = null
    if (who instanceof HoldfastError) {
      waiting?.shut(who)
      this.#named = null
      this.#headers = Promise.reject(who)
      this.#headers.catch(() => undefined)
      return
    }
    this.#onOther = onOther
    this.#named = personHeaderOf(who)
    const headers = {[personHeader]: this.#named}
    waiting?.open(headers)
    this.#headers = Promise.resolve(headers)
  }

  headers(): Promise<Record<string, string>> {
    return this.#headers
  }

  /** The server refused a request with these headers as another person's. */
  isOther(headers: Record<string, string>): void {
    if (this.#named !== null && headers[personHeader] === this.#named) this.#onOther()
  }
}

function gate(): Gate {
  let [open, shut]: [Gate['open'], Gate['shut']] = [() => undefined, () => undefined]
  const opened = new Promise<Record<string, string>>((resolve, reject) => {
    open = resolve
    shut = reject
  })
  opened.catch(() => undefined)
  return {opened, open, shut}
}
