import type {PGlite} from '@electric-sql/pglite'
import type {Agent, AgentHost, ModelSource, ToolImplementations} from '../loop/define.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {openPGliteStore} from '../storage/pglite-store.ts'
import {CrashPoints} from './crash-points.ts'
import {CrashRun, type CrashWorld} from './crash-run.ts'
import {type FakeClock, fakeEnvironment} from './fake-environment.ts'
import {difference, type Outcome} from './outcome.ts'
import type {Scene} from './scene.ts'
import {openTestDatabase, type TestDatabase} from './test-database.ts'

export type CrashTest<Served extends Agent = Agent> = {
  agent: Served
  /** Must reply the same to the same prompt, as `promptModel` does: an interrupted step calls the model again. */
  model: ModelSource
  tools: ToolImplementations<Served['tools']>
  scenario(scene: Scene): Promise<void>
  /** Server and outside systems, created for each run. Default: none, so the devices never sync. */
  world?(run: {number: number; environment: Environment & {clock: FakeClock}}): CrashWorld | Promise<CrashWorld>
  /** Which processes crash. Default: the person's devices. */
  dies?: 'devices' | 'server'
  /**
   * At which points to crash. Default: `every` point. `distinct` omits points at which neither a store nor a message
   * has changed since the previous point. These are about half of all points.
   */
  points?: 'every' | 'distinct'
  /** Crash at every nth of these points, and at the first point of each name. Default: 1. */
  nth?: number
  /** Creates the application's own tables on a device. */
  prepare?(db: PGlite): Promise<void>
  /**
   * Returns what is wrong with a run that crashed at this point, or null. Default: any difference from the undisturbed
   * run. Replace it where a crash may change the outcome: a server that dies between the start of an operation and its
   * effect may report the operation as failed.
   */
  compare?(undisturbed: Outcome, outcome: Outcome, death: string): string | null
  /** Open databases by device. The caller closes them. Default: the kit opens and closes its own. */
  databases?: Map<string, TestDatabase>
  /** Milliseconds after which a run counts as hung. Default: 30,000. */
  deadlineMs?: number
}

export type CrashFailure = {at: number; point: string; what: string}

export type CrashReport = {
  /** `points`: points that the undisturbed run passed. `planned`: points at which a run was to crash. */
  points: number
  planned: number
  /** The outcome of the undisturbed run. Assert on it that the scenario does what it should. */
  undisturbed: Outcome
  /** The point at which each run crashed, in order. */
  deaths: string[]
  /** Empty when every run ended like the undisturbed run. */
  failures: CrashFailure[]
}

/** Attempts to reach a point before it is reported as skipped. */
const tries = 5

/**
 * Tests that a crash at any point changes nothing. Runs a scenario without a crash and counts the points at which a
 * process could die. Then runs it once per point: the process dies there, its memory is lost, the device is opened
 * again from its storage, and the scenario continues. Each run must end like the undisturbed one: the same transcript
 * except for ids and times, the same documents, the same effects without duplicates, one result per call, and a server
 * that has all events.
 *
 * @throws HoldfastError `misconfigured` for a scenario whose runs differ, and any error of its undisturbed run
 * @example
 * const report = await crashEverywhere({
 *   agent: defineAgent({name: 'echo', version: '1.0.0', instructions: 'Repeat.', tools: []}),
 *   model: promptModel(prompt => ({text: said(prompt).join(' ')})),
 *   tools: {},
 *   async scenario(scene) {
 *     const session = await scene.at('laptop').open()
 *     await session.send('Hello.')
 *     await session.until(view => view.status === 'completed')
 *   },
 * })
 * if (report.failures.length > 0) throw new Error(JSON.stringify(report.failures, null, 2))
 */
export async function crashEverywhere<Served extends Agent>(test: CrashTest<Served>): Promise<CrashReport> {
  const databases = await openDatabases(test)
  try {
    return await new Walk(test as unknown as CrashTest, databases).walk()
  } finally {
    await databases.close()
  }
}

type Played = {died: string | null; passed: readonly string[]; outcome: Outcome; faults: string[]}

class Walk {
  #runs = 0
  readonly #deaths: string[] = []
  readonly #failures: CrashFailure[] = []

  constructor(
    private readonly test: CrashTest,
    private readonly databases: Awaited<ReturnType<typeof openDatabases>>,
  ) {}

  async walk(): Promise<CrashReport> {
    const undisturbed = await this.#undisturbed()
    const points = undisturbed.passed.length
    const planned = this.#planned(undisturbed.passed)
    for (const at of planned) await this.#crashAt(at, undisturbed)
    // A run may pass more points than the first one. The last run is the one that ends before it reaches its point.
    for (let at = points + 1; await this.#crashAt(at, undisturbed); at++) {
      if (at > 10 * points + 100) throw new HoldfastError('internal', 'the scenario passes ever more points')
    }
    return {
      points,
      planned: planned.length,
      undisturbed: undisturbed.outcome,
      deaths: this.#deaths,
      failures: this.#failures,
    }
  }

  /** Returns the run with the fewest points of several: how many events one request carries may differ between runs. */
  async #undisturbed(): Promise<Played> {
    const plays: Played[] = []
    for (let i = 0; i < 3; i++) plays.push(await this.#play(null))
    const [first, ...others] = plays.toSorted((a, b) => a.passed.length - b.passed.length)
    const fault = plays.flatMap(({faults}) => faults)[0]
    if (fault || !first) throw new HoldfastError('internal', `the undisturbed run is not whole: ${fault}`)
    for (const {outcome} of others) {
      const differs = difference(first.outcome, outcome)
      if (differs) throw new HoldfastError('misconfigured', `scenario: two undisturbed runs differ: ${differs}`)
    }
    return first
  }

  /** The numbers of the points to crash at, counted from 1. */
  #planned(passed: readonly string[]): number[] {
    const {nth = 1} = this.test
    const wanted = passed.flatMap((_, index) => (this.#isDistinct(passed, index) ? index : []))
    const sample = wanted.filter((index, i) => i % nth === 0 || passed.indexOf(passed[index] ?? '') === index)
    return sample.map(index => index + 1)
  }

  #isDistinct(passed: readonly string[], index: number): boolean {
    const [before = '', here = ''] = [passed[index - 1], passed[index]]
    if (this.test.points !== 'distinct' || index === 0) return true
    if (before.includes(': after ') && here.includes(': before ')) return false
    // A transaction that has not committed is rolled back.
    return !(before.endsWith(': before a transaction') && here.endsWith(': inside a transaction'))
  }

  /** Returns false when no run reached this point and none had to. */
  async #crashAt(at: number, undisturbed: Played): Promise<boolean> {
    const {compare = difference} = this.test
    for (let tried = 0; tried < tries; tried++) {
      const played = await this.#play(at).catch((error: unknown) => ({error}))
      if ('error' in played) {
        this.#failures.push({at, point: this.#lastPoint, what: String(played.error)})
        return true
      }
      if (played.died === null) {
        if (at > undisturbed.passed.length) return false
        continue
      }
      this.#deaths.push(played.died)
      const differs = compare(undisturbed.outcome, played.outcome, played.died)
      for (const what of [...played.faults, ...(differs ? [differs] : [])]) {
        this.#failures.push({at, point: played.died, what})
      }
      return true
    }
    this.#failures.push({at, point: 'unknown', what: `no run came to this point in ${tries} tries: it was skipped`})
    return true
  }

  #lastPoint = 'unknown'

  async #play(at: number | null): Promise<Played> {
    this.#runs += 1
    const {agent, model, tools, scenario, world, dies = 'devices', deadlineMs = 30_000} = this.test
    const number = this.#runs
    const environment = fakeEnvironment({seed: `run ${number} world`})
    const points = new CrashPoints(at)
    await this.databases.reset()
    const run = new CrashRun({
      number,
      points,
      world: (await world?.({number, environment})) ?? {},
      hosts: [{agent, model, tools} as unknown as AgentHost],
      dies,
      environment,
      database: name => this.databases.get(name),
      scenario,
    })
    try {
      const result = await beforeDeadline(deadlineMs, run)
      return {...result, died: points.fired ? (points.passed.at(-1) ?? null) : null, passed: points.passed}
    } finally {
      this.#lastPoint = points.passed.at(-1) ?? 'unknown'
      await run.close()
    }
  }
}

async function beforeDeadline(ms: number, run: CrashRun) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HoldfastError('deadline', `the run hangs at "${run.doing}"`)), ms)
  })
  return await Promise.race([run.play(), hung]).finally(() => clearTimeout(timer))
}

/** One database per device for all runs, emptied before each: opening Postgres takes as long as ten runs. */
async function openDatabases({databases: given, prepare}: Pick<CrashTest, 'databases' | 'prepare'>) {
  const opened = new Map<string, {database: TestDatabase; restore(): Promise<void>}>()
  const ours: TestDatabase[] = []
  return {
    async get(name: string): Promise<TestDatabase> {
      const known = opened.get(name)
      if (known) return known.database
      const database = given?.get(name) ?? (await openTestDatabase())
      if (!given?.has(name)) ours.push(database)
      await openPGliteStore(database.db, fakeEnvironment({seed: name}))
      await prepare?.(database.db)
      opened.set(name, {database, restore: await database.snapshot()})
      return database
    },
    async reset(): Promise<void> {
      for (const {restore} of opened.values()) await restore()
    },
    async close(): Promise<void> {
      for (const {restore} of opened.values()) await restore()
      for (const database of ours) await database.close()
    },
  }
}
