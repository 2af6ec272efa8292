/** Thrown by every call of a process that has died. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

/**
 * Counts the points at which processes may die and kills the process that reaches the chosen point. One count covers
 * all processes, in the order in which they pass points.
 */
export class CrashPoints {
  /** The points passed so far, such as `laptop: before a transaction`. */
  readonly passed: string[] = []
  #fired: MortalProcess | null = null
  #over = false
  #tell: (process: MortalProcess) => void = () => undefined
  /** Resolves with the process that died. */
  readonly crashed = new Promise<MortalProcess>(resolve => {
    this.#tell = resolve
  })

  /** `at` counts from one; null only counts. */
  constructor(private readonly at: number | null = null) {}

  /** Stops counting: no process dies after the end of the scenario. */
  end(): void {
    this.#over = true
  }

  get fired(): boolean {
    return this.#fired !== null
  }

  /** Registers a process. With `counted: false` it has no points and dies only by `kill`. */
  process(name: string, {counted = true} = {}): MortalProcess {
    return new MortalProcess(
      name,
      counted,
      label => this.#pass(label),
      process => this.#died(process),
    )
  }

  /** Returns true when this is the chosen point. */
  #pass(label: string): boolean {
    if (this.#fired || this.#over) return false
    this.passed.push(label)
    return this.passed.length === this.at
  }

  #died(process: MortalProcess): void {
    this.#fired = process
    this.#tell(process)
  }
}

/** A process that may die. After its death every call fails and nothing reaches the store or the network. */
export class MortalProcess {
  #dead = false
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #burials = new Set<() => void>()

  constructor(
    readonly name: string,
    private readonly counted: boolean,
    private readonly pass: (label: string) => boolean,
    private readonly onDeath: (process: MortalProcess) => void,
  ) {}

  get dead(): boolean {
    return this.#dead
  }

  /**
   * Passes a named point. Call it where a crash could matter, such as before and after an effect of your own.
   *
   * @throws Crash at the chosen point, and at every later call
   */
  point(label: string): void {
    this.alive()
    if (this.counted && this.pass(`${this.name}: ${label}`)) this.kill()
  }

  kill(): never {
    this.#dead = true
    this.onDeath(this)
    for (const tell of this.#burials) tell()
    throw new Crash(`${this.name} was killed`)
  }

  /** @throws Crash once the process has died */
  alive(): void {
    if (this.#dead) throw new Crash(`${this.name} is dead`)
  }

  /** Work that ends even if the process dies: a transaction that commits, a request that arrives. */
  track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const forget = () => this.#underWay.delete(work)
    work.then(forget, forget)
    return work
  }

  /** Resolves when a dead process writes nothing more. Open its database again only after that. */
  async buried(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Calls the listener when the process dies. Returns an unsubscribe function. */
  onceDead(listener: () => void): () => void {
    this.#burials.add(listener)
    return () => this.#burials.delete(listener)
  }

  /** Runs `work` between two points. A crash at the first means it never ran; at the second, its result is lost. */
  async between<T>(label: string, work: () => Promise<T>): Promise<T> {
    this.point(`before ${label}`)
    const result = await this.track(work())
    this.point(`after ${label}`)
    return result
  }
}
