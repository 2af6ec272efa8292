import {editText} from '../documents/shared-text.ts'
import {watchSession} from '../page/watch-session.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {SessionView} from '../protocol/session-view.ts'
import type {ServerLink} from '../sync/server-link.ts'
import {Crash} from './crash-points.ts'
import {type FakeClock, fakeEnvironment} from './fake-environment.ts'
import type {PersonAt, Scene, SceneSession} from './scene.ts'
import type {TestDevice} from './test-device.ts'

/** The calls of a run that have completed; they are kept when the scenario starts again. */
export type Memory = {
  readonly run: number
  readonly seed: string
  readonly clock: FakeClock
  readonly steps: {what: string; result: unknown}[]
  /** All sessions of the scenario, in the order of their first use. */
  readonly sessions: Set<SessionId>
  readonly agent: string
  device(name: string): Promise<TestDevice>
  link(token: string): ServerLink
}

/** One attempt to run a scenario. It ends at its end or at a crash. */
export class Telling {
  readonly #over = new AbortController()
  readonly #underWay = new Set<Promise<unknown>>()
  #next = 0
  #doing = 'nothing yet'

  constructor(
    private readonly memory: Memory,
    private readonly number: number,
  ) {}

  /** The current step of the scenario, for the error of a run that hangs. */
  get doing(): string {
    return this.#doing
  }

  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Starts no further step. */
  stop(): void {
    this.#over.abort(new Crash('the story was cut off'))
  }

  /** Starts no further step and waits for the running ones. */
  async cutOff(): Promise<void> {
    this.stop()
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  scene(): Scene {
    const {run, clock, link} = this.memory
    return {run, clock, link, at: name => this.#personAt(name), does: (what, work) => this.#step(what, work)}
  }

  #personAt(name: string): PersonAt {
    return {
      open: async ({agent = this.memory.agent, policy} = {}) => {
        const id = await this.#onPage(name, 'open', async page => {
          return (await page.openSession({agent, ...(policy && {policy})})).id
        })
        return this.#session(name, id)
      },
      session: id => this.#session(name, id as SessionId),
      setOnline: online => this.#onPage(name, `setOnline ${online}`, page => page.setOnline(online)),
    }
  }

  #session(name: string, id: SessionId): SceneSession {
    this.memory.sessions.add(id)
    const act = <T>(what: string, work: (session: Awaited<ReturnType<Page['openSession']>>) => Promise<T>) =>
      this.#onPage(name, what, async page => work(await page.openSession({session: id})))
    return {
      id,
      send: async (text, options) =>
        this.#session(name, await act(`send ${text}`, async session => (await session.send(text, options)).id)),
      cancel: reason => act('cancel', session => session.cancel(reason)),
      retry: () => act('retry', session => session.retry()),
      takeOver: () => act('take over', session => session.takeOver()),
      fork: async options => this.#session(name, await act('fork', async session => (await session.fork(options)).id)),
      write: (document, text) => this.#write(name, id, document, text),
      until: wanted =>
        this.#step(
          `${name}: until`,
          async () => await firstView(await this.memory.device(name), id, wanted, this.signal),
        ),
    }
  }

  /** Each attempt uses its own id: an edit is computed from the current text of the document. */
  #write(name: string, id: SessionId, document: string, text: string): Promise<void> {
    const seed = `${this.memory.seed} step ${this.#next} telling ${this.number}`
    return this.#step(`${name}: write ${document}`, async () => {
      const {service} = await this.memory.device(name)
      const update = editText(await service.document(id, document), text)
      if (update) await service.updateDocument(id, fakeEnvironment({seed}).id('event'), document, update)
    })
  }

  #onPage<T>(name: string, what: string, work: (page: Page) => Promise<T>): Promise<T> {
    const seed = `${this.memory.seed} step ${this.#next}`
    return this.#step(`${name}: ${what}`, async () => {
      const device = await this.memory.device(name)
      return await work(device.page(fakeEnvironment({seed, clock: this.memory.clock})))
    })
  }

  async #step<T>(what: string, work: () => Promise<T>): Promise<T> {
    const {steps} = this.memory
    const number = this.#next++
    const known = steps[number]
    if (known && known.what !== what) {
      const message = `scenario: told again, step ${number + 1} is "${what}" and was "${known.what}"; it may depend only on what its steps gave it`
      throw new HoldfastError('misconfigured', message)
    }
    if (known) return known.result as T
    this.signal.throwIfAborted()
    this.#doing = what
    const doing = work()
    this.#underWay.add(doing)
    try {
      const result = await doing
      steps[number] = {what, result}
      return result
    } finally {
      this.#underWay.delete(doing)
    }
  }
}

type Page = ReturnType<TestDevice['page']>

/** Resolves with the first view of the device that matches. */
export function firstView(
  device: TestDevice,
  id: SessionId,
  wanted: (view: SessionView) => boolean,
  signal: AbortSignal,
): Promise<SessionView> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => {
      stop()
      signal.removeEventListener('abort', onAbort)
      done()
    }
    const look = (view: SessionView) => {
      if (wanted(view)) settle(() => resolve(structuredClone(view)))
    }
    const onAbort = () => settle(() => reject(signal.reason))
    const stop = watchSession({...device, onOwnerChange: () => () => undefined}, id, look)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort)
    device.service.view(id).catch(error => settle(() => reject(error)))
  })
}
