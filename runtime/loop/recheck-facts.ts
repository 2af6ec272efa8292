import {isOutOfReach} from '../protocol/errors.ts'
import type {FactReading} from '../protocol/fact.ts'
import type {CallState, SessionState} from '../protocol/session.ts'

/**
 * Reads the facts of unproposed calls again and returns the calls whose facts have changed. Only the server's answer
 * counts: without one the call proceeds, and the server re-checks before it executes. [RUN-8, OP-5]
 */
export async function recheckFacts(
  state: SessionState,
  read: (key: string) => Promise<FactReading | null>,
): Promise<{calls: CallState[]; changed: string[]}> {
  const proposed = new Set(state.operations.map(({call}) => call))
  const calls = state.calls.filter(
    call => call.effect === 'external' && call.fault === null && call.run === state.run?.id && !proposed.has(call.id),
  )
  if (calls.length === 0) return {calls: [], changed: []}
  const known = Object.entries(state.run?.basis ?? {})
  const moved = await Promise.all(
    known.map(async ([key, version]) => ((await hasMoved(read, key, version)) ? [key] : [])),
  )
  const changed = moved.flat()
  return {calls: changed.length > 0 ? calls : [], changed}
}

async function hasMoved(
  read: (key: string) => Promise<FactReading | null>,
  key: string,
  version: string,
): Promise<boolean> {
  try {
    const now = await read(key)
    return now === null || (now.source === 'server' && now.version !== version)
  } catch (error) {
    if (isOutOfReach(error)) return false
    throw error
  }
}
