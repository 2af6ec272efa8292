import type {AgentHost} from '../loop/define.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {SessionId} from '../protocol/ids.ts'
import {type CuttableLink, httpLink} from '../sync/http-link.ts'
import type {CrashPoints, MortalProcess} from './crash-points.ts'
import {fakeEnvironment} from './fake-environment.ts'
import {type Outcome, outcomeOf} from './outcome.ts'
import {firstView, type Memory, Telling} from './play-scene.ts'
import type {Scene} from './scene.ts'
import {ServerProcess, type StartServer} from './server-process.ts'
import type {TestDatabase} from './test-database.ts'
import {openTestDevice, type TestDevice} from './test-device.ts'

/** The server and outside systems of one run, created for each run so that runs are independent. */
export type CrashWorld = {
  /** Starts the server, first and after each of its crashes. Default: no server, so nothing syncs. */
  startServer?: StartServer
  /** The bearer token of the person whose devices these are. */
  token?: string
  /** The person that the token identifies. Default: `maya`. */
  subject?: string
  /** The effects in outside systems so far, one line each. Every run must give the same lines, none twice. */
  effects?(): readonly string[] | Promise<readonly string[]>
  close?(): Promise<void>
}

export type RunParts = {
  number: number
  points: CrashPoints
  world: CrashWorld
  hosts: readonly AgentHost[]
  dies: 'devices' | 'server'
  environment: ReturnType<typeof fakeEnvironment>
  database(device: string): Promise<TestDatabase>
  scenario(scene: Scene): Promise<void>
}

/** One run of a scenario, with at most one crash, until nothing is left to do. */
export class CrashRun {
  readonly #devices = new Map<string, Promise<TestDevice>>()
  readonly #memory: Memory
  #server: ServerProcess | null = null
  /** Live connections that each device has opened so far, and their number when the server died. */
  readonly #lives = new Map<string, number>()
  #livesAtDeath = new Map<string, number>()
  #processes = 0
  #telling: Telling | null = null

  constructor(private readonly parts: RunParts) {
    const {number, environment, hosts} = parts
    this.#memory = {
      run: number,
      seed: `run ${number}`,
      clock: environment.clock,
      steps: [],
      sessions: new Set<SessionId>(),
      agent: hosts[0]?.agent.name ?? '',
      device: name => this.#device(name),
      link: token => {
        const link = this.#link(token)
        if (link) return link
        throw new HoldfastError('misconfigured', 'scene.link: this world has no server')
      },
    }
  }

  get doing(): string {
    return this.#telling?.doing ?? 'starting'
  }

  /** Runs the scenario to its end, waits until nothing is left to do, and returns the outcome. */
  async play(): Promise<{outcome: Outcome; faults: string[]}> {
    const {startServer} = this.parts.world
    this.#server = startServer ? new ServerProcess(startServer, this.#process('server')) : null
    for (let tellings = 1; !(await this.#tell(tellings)); ) tellings += 1
    this.parts.points.end()
    const faults: string[] = []
    const sessions: Outcome['sessions'] = []
    const link = this.#link(this.parts.world.token ?? '')
    for (const opening of this.#devices.values()) {
      for (const id of this.#memory.sessions) sessions.push(await outcomeOf(await opening, link, id, faults))
    }
    const effects = [...((await this.parts.world.effects?.()) ?? [])].sort()
    return {outcome: {sessions, effects}, faults}
  }

  async close(): Promise<void> {
    await this.#telling?.cutOff()
    for (const opening of this.#devices.values()) await opening.then(device => device.close()).catch(() => undefined)
    await this.#server?.close().catch(() => undefined)
    await this.parts.world.close?.()
  }

  /** Returns true at the end of the scenario, false when a process died and was replaced. */
  async #tell(number: number): Promise<boolean> {
    const {points, scenario} = this.parts
    const crashedBefore = points.fired
    const telling = new Telling(this.#memory, number)
    this.#telling = telling
    const told = scenario(telling.scene())
      .then(() => this.#rest(telling.signal))
      .then(() => points.end())
    const ended = told.then(
      () => null,
      error => ({error}),
    )
    const crash = crashedBefore ? new Promise<never>(() => undefined) : points.crashed
    const first = await Promise.race([ended, crash])
    if (!crashedBefore && points.fired) {
      const dead = await points.crashed
      // In this order: a read that was in flight may wait for the next server.
      telling.stop()
      await this.#replace(dead)
      await telling.cutOff()
      await ended
      return false
    }
    if (first && 'error' in first) throw first.error
    return true
  }

  /** Waits until nothing is left to do, the server has all events, and every device has the server's events. */
  async #rest(signal: AbortSignal): Promise<void> {
    const link = this.#link(this.parts.world.token ?? '')
    for (const id of this.#memory.sessions) {
      for (const opening of this.#devices.values()) {
        await firstView(await opening, id, view => view.settled && (!link || view.pending === 0), signal)
      }
      const head = link ? (await link.pull(id, 0)).head : 0
      for (const opening of this.#devices.values()) {
        await firstView(await opening, id, view => view.settled && view.head >= head, signal)
      }
    }
  }

  async #replace(dead: MortalProcess): Promise<void> {
    if (dead.name === 'server') {
      await this.#server?.restart(dead, this.#process('server'))
      for (const opening of this.#devices.values()) await this.#reconnected(await opening)
      return
    }
    await dead.buried()
    await this.#devices
      .get(dead.name)
      ?.then(device => device.close())
      .catch(() => undefined)
    await dead.buried()
    // Takes the position of the dead device: outcomes are listed in the order in which devices were first opened.
    const opening = this.#open(dead.name)
    this.#devices.set(dead.name, opening)
    await opening
  }

  /** Skips the pause after which a device connects to the server again. */
  async #reconnected({process: {name}, service}: TestDevice): Promise<void> {
    while ((this.#lives.get(name) ?? 0) === (this.#livesAtDeath.get(name) ?? 0)) {
      if ((await service.connection()).state === 'cut') return
      await service.setToken('')
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }

  #process(name: string): MortalProcess {
    const counted = (name === 'server') === (this.parts.dies === 'server')
    const process = this.parts.points.process(name, {counted})
    if (name !== 'server') return process
    process.onceDead(() => {
      this.#livesAtDeath = new Map(this.#lives)
    })
    return process
  }

  #device(name: string): Promise<TestDevice> {
    const known = this.#devices.get(name)
    if (known) return known
    const opening = this.#open(name)
    opening.catch(() => undefined)
    this.#devices.set(name, opening)
    return opening
  }

  async #open(name: string): Promise<TestDevice> {
    this.#processes += 1
    const {world, hosts, environment, number} = this.parts
    const {db} = await this.parts.database(name)
    const seed = `run ${number} process ${this.#processes} ${name}`
    return await openTestDevice({
      db,
      process: this.#process(name),
      hosts,
      environment: fakeEnvironment({seed, clock: environment.clock}),
      link: this.#link(world.token ?? '', name),
      subject: world.subject ?? 'maya',
    })
  }

  #link(token: string, device = ''): CuttableLink | null {
    const server = this.#server
    if (!server) return null
    return httpLink({
      url: 'http://server.test',
      token: async () => token,
      fetch: (input, init) => {
        if (String(input).endsWith('/v1/live')) this.#lives.set(device, (this.#lives.get(device) ?? 0) + 1)
        return server.fetch(input, init)
      },
    })
  }
}
