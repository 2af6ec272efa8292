import {caughtUp, type Found} from './explore.ts'
import {type Move, movesOf} from './moves.ts'
import {openingWorld} from './opening-world.ts'
import {checkQuiet} from './quiet.ts'
import {pool, remembering} from './remember.ts'
import {type Rules, realRules} from './rules.ts'
import {Violation} from './violation.ts'
import type {Scenario, World} from './world.ts'

export type Walked = {steps: number; found: Found | null}

/**
 * One long way through a world that is too large to exhaust: each number picks a move; then everything that goes on by
 * itself goes on until there is rest, which must be a state that the rules promise.
 */
export function walk(scenario: Scenario, picks: readonly number[], base: Rules = realRules): Walked {
  const rules = remembering(base, pool())
  const trace: string[] = []
  let world = openingWorld(rules, scenario)
  const take = (move: Move): boolean => {
    trace.push(move.name)
    const after = move.next()
    if (after) world = after
    else trace.pop()
    return after !== null
  }
  try {
    for (const pick of picks) {
      const moves = movesOf({rules, scenario, world})
      const move = moves[pick % Math.max(1, moves.length)]
      if (move) take(move)
    }
    world = toRest({rules, scenario, world}, picks, take, () => world)
    checkQuiet(rules, caughtUp(rules, world))
    return {steps: trace.length, found: null}
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return {steps: trace.length, found: {invariant: error.invariant, what: error.what, trace}}
  }
}

type Context = {rules: Rules; scenario: Scenario; world: World}

function toRest({rules, scenario}: Context, picks: readonly number[], take: (move: Move) => boolean, now: () => World) {
  for (let round = 0; round < 500; round++) {
    const moves = movesOf({rules, scenario, world: now()}).filter(move => move.progress)
    const first = (picks[round % Math.max(1, picks.length)] ?? 0) % Math.max(1, moves.length)
    if (![...moves.slice(first), ...moves.slice(0, first)].some(take)) return now()
  }
  throw new Violation('settles', 'what happens by itself never comes to rest')
}
