import type {Environment} from '../runtime/protocol/environment.ts'

export type Pulse = {beat(): void; state(): 'ok' | 'not_started' | 'late'}

/** Tracks when a periodic round last completed. The state is `late` after three missed rounds plus a margin of 10 s. */
export function createPulse(environment: Environment, everyMs: number): Pulse {
  let last: number | null = null
  return {
    beat: () => {
      last = environment.now()
    },
    state: () => {
      if (last === null) return 'not_started'
      return environment.now() - last > 3 * everyMs + 10_000 ? 'late' : 'ok'
    },
  }
}
