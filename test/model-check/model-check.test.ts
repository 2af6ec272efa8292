import * as fc from 'fast-check'
import {afterAll, describe, expect, test} from 'vitest'
import {deepStride} from '../support/deep.ts'
import {describeFound, explore} from './explore.ts'
import {anything, anythingClosed, anythingUnreadable, deepened, scenarios} from './scenarios.ts'
import {walk} from './walk.ts'

/** Takes minutes instead of seconds. */
const deep = deepStride !== null
const maxStates = deep ? 1_000_000 : 60_000

describe('every interleaving keeps every promise', () => {
  const total = {states: 0, transitions: 0, depth: 0}
  afterAll(() =>
    console.log(`model: ${total.states} states, ${total.transitions} transitions, depth ${total.depth} explored`),
  )

  test.each(scenarios.map(scenario => [scenario.name, deep ? deepened(scenario) : scenario] as const))(
    '[RUN-1] %s',
    (_, scenario) => {
      const {found, states, transitions, depth, whole} = explore(scenario, {maxStates})
      total.states += states
      total.transitions += transitions
      total.depth = Math.max(total.depth, depth)
      expect(found && describeFound(found)).toBeNull()
      expect(whole || deep, 'the scenario is to be explored to its end').toBe(true)
    },
    600_000,
  )
})

test.each([anything, anythingClosed, anythingUnreadable])(
  '[SYNC-4] a long walk through $name at once keeps every promise and comes to rest',
  scenario => {
    const picks = fc.array(fc.nat(1_000_000), {minLength: 20, maxLength: 200, size: 'max'})
    fc.assert(
      fc.property(picks, chosen => {
        const {found} = walk(scenario, chosen)
        expect(found && describeFound(found)).toBeNull()
      }),
      {numRuns: deep ? 5000 : 200},
    )
  },
)
