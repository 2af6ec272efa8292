import {receive} from './device-moves.ts'
import {fingerprinter} from './fingerprint.ts'
import {movesOf} from './moves.ts'
import {openingWorld} from './opening-world.ts'
import {checkQuiet} from './quiet.ts'
import {pool, remembering} from './remember.ts'
import {type Rules, realRules} from './rules.ts'
import {type Invariant, Violation} from './violation.ts'
import {everyone, type Scenario, type World} from './world.ts'

export type Found = {invariant: Invariant; what: string; trace: string[]}
export type Explored = {
  states: number
  transitions: number
  depth: number
  quiet: number
  /** False when the cap on states came first. */
  whole: boolean
  found: Found | null
}

type Node = {parent: number; move: string; depth: number}

/**
 * Breadth first over every interleaving, so that the first violation found has a shortest trace. Afterwards it asks of
 * every state whether what happens by itself leads to rest; a state from which it cannot is a session that never settles.
 */
export function explore(scenario: Scenario, options: {maxStates: number; rules?: Rules}): Explored {
  const common = pool()
  const rules = remembering(options.rules ?? realRules, common)
  const fingerprint = fingerprinter(common)
  const start = openingWorld(rules, scenario)
  const seen = new Map<string, number>([[fingerprint(start), 0]])
  const nodes: Node[] = [{parent: -1, move: '', depth: 0}]
  let frontier: [number, World][] = [[0, start]]
  const backward: number[][] = [[]]
  const restful: number[] = []
  let transitions = 0
  let whole = true
  const result = (found: Found | null): Explored => {
    const depth = nodes.at(-1)?.depth ?? 0
    return {states: nodes.length, transitions, depth, quiet: restful.length, whole, found}
  }
  while (frontier.length > 0) {
    const next: [number, World][] = []
    for (const [index, world] of frontier) {
      let quiet = true
      const moves = movesOf({rules, scenario, world})
      for (const move of moves) {
        try {
          const after = move.next()
          if (!after) continue
          quiet &&= !move.progress
          transitions += 1
          const key = fingerprint(after)
          let target = seen.get(key)
          if (target === undefined) {
            if (nodes.length >= options.maxStates) {
              whole = false
              if (move.progress) restful.push(index)
              continue
            }
            target = nodes.length
            seen.set(key, target)
            nodes.push({parent: index, move: move.name, depth: (nodes[index]?.depth ?? 0) + 1})
            backward.push([])
            next.push([target, after])
          }
          if (move.progress) backward[target]?.push(index)
        } catch (error) {
          if (!(error instanceof Violation)) throw error
          return result({invariant: error.invariant, what: error.what, trace: [...traceTo(nodes, index), move.name]})
        }
      }
      if (!quiet) continue
      restful.push(index)
      try {
        checkQuiet(rules, caughtUp(rules, world))
      } catch (error) {
        if (!(error instanceof Violation)) throw error
        return result({invariant: error.invariant, what: error.what, trace: traceTo(nodes, index)})
      }
    }
    frontier = next
  }
  return result(restless(nodes, backward, restful))
}

/** Onlookers pull last, since it makes no difference when. */
export function caughtUp(rules: Rules, world: World): World {
  return everyone.reduce(
    (now, who) => receive(rules, now, who, now.server.log.slice(now.devices[who].confirmed.head)),
    world,
  )
}

function restless(nodes: readonly Node[], backward: readonly number[][], restful: readonly number[]): Found | null {
  const settles = new Set(restful)
  const queue = [...settles]
  for (let state = queue.pop(); state !== undefined; state = queue.pop()) {
    for (const before of backward[state] ?? []) {
      if (settles.has(before)) continue
      settles.add(before)
      queue.push(before)
    }
  }
  const stuck = nodes.findIndex((_, index) => !settles.has(index))
  if (stuck < 0) return null
  return {invariant: 'settles', what: 'what happens by itself never comes to rest', trace: traceTo(nodes, stuck)}
}

function traceTo(nodes: readonly Node[], index: number): string[] {
  const trace: string[] = []
  for (let at = index; at > 0; at = nodes[at]?.parent ?? 0) trace.unshift(nodes[at]?.move ?? '')
  return trace
}

export function describeFound({invariant, what, trace}: Found): string {
  return [`[${invariant}] ${what}; shortest way there:`, ...trace.map((move, i) => `  ${i + 1}. ${move}`)].join('\n')
}
