import {HoldfastError, isOutOfReach} from '../protocol/errors.ts'
import type {EventId, RunId} from '../protocol/ids.ts'
import {isActive} from '../protocol/run.ts'
import type {SessionState} from '../protocol/session.ts'
import {tellListeners} from '../protocol/tell-listeners.ts'
import {describeAgent} from './describe-agent.ts'
import {type NextStep, nextStep} from './next-step.ts'
import {type LoopParts, StepPerformer} from './perform-step.ts'
import {RunSignal} from './run-signal.ts'
import {WorkMeter} from './work-meter.ts'

/** State of the loop. */
export type LoopState = {working: boolean; waiting: Waiting | null; fault: HoldfastError | null}
export type Waiting = {for: 'approval' | 'operation' | 'custody' | 'version' | 'server' | 'wake'; why: string}

/** A timer stops while the machine sleeps and continues afterwards, so the clock is checked regularly. */
const longestTimerMs = 60_000

const behind =
  'Entries of this session are missing on this device. The session continues when they are fetched from the server.'

/**
 * Performs the step that `nextStep` returns, one at a time, until it returns wait or idle. Every change of the log wakes
 * it. All state between two steps is in the log, so a new worker continues where this one stopped. [RUN-8]
 */
export class RunLoop {
  #state: LoopState = {working: false, waiting: null, fault: null}
  #closed = false
  #again = false
  #driving: Promise<void> | null = null
  /** Steps in a row that failed for want of the server. */
  #restedForServer = 0
  /** The run that this process began or resumed. */
  #began: RunId | null = null
  #alarm: ReturnType<typeof setTimeout> | undefined
  /** The current sleep and when it was first seen. */
  #asleep: {sleep: string; since: number} | null = null
  /** This device's message that a holder elsewhere has not taken up, and since when. */
  #asked: {message: EventId; since: number} | null = null
  readonly #meter: WorkMeter
  readonly #performer: StepPerformer
  readonly #signal: RunSignal
  readonly #listeners = new Set<() => void>()
  readonly #unsubscribe: () => void

  constructor(private readonly parts: LoopParts) {
    this.#signal = new RunSignal(parts)
    this.#meter = new WorkMeter(() => parts.environment.elapsed())
    this.#performer = new StepPerformer(parts, this.#signal, this.#meter)
    this.#unsubscribe = parts.log.onChange(() => {
      this.#signal.abortOvertaken()
      this.wake()
    })
  }

  get state(): LoopState {
    return this.#state
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Looks again for something to do; call it whenever the log or the world may have changed. */
  wake(): void {
    if (this.#closed) return
    this.#again = true
    // Set before the drive starts: it may take its first look before this line would otherwise have run.
    if (!this.#state.working) this.#become({...this.#state, working: true})
    if (this.#driving) return
    this.#driving = this.#drive().finally(() => {
      this.#driving = null
      if (this.#again) this.wake()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#unsubscribe()
    clearTimeout(this.#alarm)
    this.#signal.abortAll(new HoldfastError('cancelled', 'the runtime was closed'))
    await this.#driving
  }

  async #drive(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false
      // Missing events may record finished work, so nothing starts on a partial record. [LOG-9]
      if (this.parts.log.isBehind) {
        this.#rest({for: 'server', why: behind})
        continue
      }
      const step = await this.#nextStep()
      if (!step) continue
      if (step.do === 'idle') this.#rest(null)
      else if (step.do === 'wait') this.#wait(step)
      else await this.#attempt(step)
    }
  }

  /** Null when the records or agents that the choice depends on cannot be read. */
  async #nextStep(): Promise<NextStep | null> {
    try {
      return nextStep(this.parts.log.state, await this.#here())
    } catch (error) {
      this.#stop(HoldfastError.from(error))
      return null
    }
  }

  async #here() {
    const agents = await Promise.all(this.parts.hosts.map(({agent}) => describeAgent(agent)))
    const {device, environment} = this.parts
    const [now, workMs, sleptMs] = [environment.now(), this.#meter.unrecordedMs, this.#sleptMs()]
    return {device, agents, began: this.#began, now, workMs, sleptMs, isAsked: await this.#isAsked()}
  }

  async #isAsked(): Promise<boolean> {
    const {log, device, store} = this.parts
    const {custody, unanswered} = log.state
    const newest = unanswered.at(-1)
    if (custody.holder === device || !newest) return false
    const [message] = await store.byIds([newest])
    if (message?.device !== device) return false
    // A divergence waits for the person's choice, and the holder answers in the meantime. [CUS-4]
    const open = (await store.divergences(log.id)).some(({resolution}) => resolution === null)
    return !open && this.#isPatient(newest)
  }

  /** A connected holder starts at once. Claiming custody too early would make both devices call the model. */
  #isPatient(message: EventId): boolean {
    const now = this.parts.environment.elapsed()
    if (this.#asked?.message !== message) this.#asked = {message, since: now}
    const leftMs = this.#asked.since + (this.parts.patienceMs?.() ?? 0) - now
    if (leftMs > 0) this.#wakeIn(leftMs)
    return leftMs <= 0
  }

  #sleptMs(): number {
    const {run} = this.parts.log.state
    const sleep = run?.rest?.asleep ? `${run.id} ${run.rest.until}` : null
    const now = this.parts.environment.elapsed()
    if (sleep !== (this.#asleep?.sleep ?? null)) this.#asleep = sleep === null ? null : {sleep, since: now}
    return this.#asleep ? now - this.#asleep.since : 0
  }

  /** A failure became an event, or met a state that moved meanwhile, or rests the loop until it is woken. */
  async #attempt(step: NextStep): Promise<void> {
    const {log} = this.parts
    const before = log.state
    try {
      if (step.do === 'start-run' || step.do === 'resume-run') this.#meter.reset()
      const perform = () => this.#meter.during(() => this.#performer.perform(step, before))
      await (this.parts.around ? this.parts.around(step, log, perform) : perform())
      if (step.do === 'start-run' || step.do === 'resume-run') this.#began = log.state.run?.id ?? null
      this.#restedForServer = 0
      this.#again = true
    } catch (caught) {
      const error = HoldfastError.from(caught)
      if (this.#wasOvertaken(error, before)) this.#again = true
      else if (error.details.waitFor === 'version') this.#rest({for: 'version', why: error.message})
      else if (isOutOfReach(error) || error.code === 'backlog_full') this.#restForServer(error)
      else await this.#fail(error, before)
    }
  }

  /** A failure that cannot be recorded is shown instead: no run is active, or the storage cannot be written. */
  async #fail(error: HoldfastError, before: SessionState): Promise<void> {
    if (this.#closed) return
    try {
      if (!isActive(before.run)) return this.#stop(error)
      await this.#performer.fail(error, before)
      this.#again = true
    } catch (caught) {
      const second = HoldfastError.from(caught, 'not_durable')
      if (this.#wasOvertaken(second, before)) this.#again = true
      else this.#stop(second)
    }
  }

  #stop(fault: HoldfastError): void {
    this.#become({working: this.#again, waiting: null, fault})
  }

  /** True when the log changed during the step and refuses its outcome. The loop then starts over. */
  #wasOvertaken(error: HoldfastError, before: SessionState): boolean {
    return this.parts.log.state !== before && HoldfastError.is(error, 'refused', 'stale_epoch', 'cancelled')
  }

  #rest(waiting: Waiting | null): void {
    // After a change during the last look, the loop looks again and is not at rest.
    this.#become({working: this.#again, waiting, fault: null})
  }

  /** A sleeping run is woken by this device's clock, or by the next look when that was slept through. */
  #wait(step: Extract<NextStep, {do: 'wait'}>): void {
    this.#rest({for: step.for, why: step.why})
    if (step.for === 'wake') this.#wakeIn(step.inMs)
  }

  /** Woken when the connection changes; but one call can fail while the connection stands, so time wakes it too. */
  #restForServer(error: HoldfastError): void {
    this.#rest({for: 'server', why: error.message})
    if (this.#closed) return
    const {retryDelayMs = 500, environment} = this.parts
    const pauseMs = Math.min(30_000, retryDelayMs * 2 ** this.#restedForServer) * (0.5 + environment.random() / 2)
    this.#restedForServer += 1
    this.#wakeIn(pauseMs)
  }

  #wakeIn(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#alarm)
    this.#alarm = setTimeout(() => this.wake(), Math.min(Math.max(0, ms), longestTimerMs))
  }

  #become(state: LoopState): void {
    this.#state = state
    tellListeners<void>(this.#listeners, undefined)
  }
}
