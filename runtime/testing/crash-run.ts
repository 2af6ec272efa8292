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

/** What surrounds the devices in one run; made new for each, so that no run sees what another did. */
export type CrashWorld = {
  /** Called for the first process of the server and again after each of its deaths. Without it nothing syncs. */
  startServer?: StartServer
  /** The bearer token of the person whose devices these are. */
  token?: string
  /** The person that the token identifies. Default: `maya`. */
  subject?: string
  /** What has happened outside so far, a line each: the same lines in every run, none twice. */
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

/** One run of a scenario, through its crash if it has one, to its rest. */
export class CrashRun {
  readonly #devices = new Map<string, Promise<TestDevice>>()
  readonly #memory: Memory
  #server: ServerProcess | null = null
  /** Live connections that each device has asked for so far, and how many those were when the server died. */
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

  /** Plays the story until it is over and everything is at rest, and says what it came to. */
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

  /** True when the story came to its end; false when a process died and another stands in its place. */
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
      // In this order: what was under way may be a read that waits for the next server.
      telling.stop()
      await this.#replace(dead)
      await telling.cutOff()
      await ended
      return false
    }
    if (first && 'error' in first) throw first.error
    return true
  }

  /** Everything that goes on by itself has gone on, the server has all of it, and every device has what the server has. */
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
    // In the place of the dead one: what a run came to is told in the order in which its devices were first opened.
    const opening = this.#open(dead.name)
    this.#devices.set(dead.name, opening)
    await opening
  }

  /** A device finds the server again by itself, after a pause that nobody here wants to wait for. */
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
