/** What every call meets once its process has died. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

/**
 * Counts the points at which processes may die, and kills the one that comes to the chosen point. Points count over all
 * processes together, in the order in which they are passed.
 */
export class CrashPoints {
  /** What was passed so far, like `laptop: before a transaction`. */
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

  /** From now on nothing counts and nobody dies: the story is over. */
  end(): void {
    this.#over = true
  }

  get fired(): boolean {
    return this.#fired !== null
  }

  /** The points of one process; with `counted: false` it can be killed by hand but has no points of its own. */
  process(name: string, {counted = true} = {}): MortalProcess {
    return new MortalProcess(
      name,
      counted,
      label => this.#pass(label),
      process => this.#died(process),
    )
  }

  /** True when this is the chosen point. */
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

/** One process that may die: from then on each of its calls fails, and nothing of it reaches store or network any more. */
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
   * Passes one point by name; call it wherever a crash could matter, say before and after an effect of your own.
   *
   * @throws Crash here, when it is the chosen point, and ever after
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

  /** Work that has left the process and ends by itself: a transaction that commits, a request that arrives. */
  track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const forget = () => this.#underWay.delete(work)
    work.then(forget, forget)
    return work
  }

  /** A dead process commits nothing more, so whoever opens its database next must not see it still writing. */
  async buried(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Told at the moment of death; returns how to stop. */
  onceDead(listener: () => void): () => void {
    this.#burials.add(listener)
    return () => this.#burials.delete(listener)
  }

  /** `work` between two points: dying at the first it was never done, dying at the second nobody heard that it was. */
  async between<T>(label: string, work: () => Promise<T>): Promise<T> {
    this.point(`before ${label}`)
    const result = await this.track(work())
    this.point(`after ${label}`)
    return result
  }
}
