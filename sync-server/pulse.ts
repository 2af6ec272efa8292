import type {Environment} from '../runtime/protocol/environment.ts'

export type Pulse = {beat(): void; state(): 'ok' | 'not_started' | 'late'}

/** Remembers when a repeated round last went through; late once it has missed three in a row and a margin. */
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
