import {describe, expect, test} from 'vitest'
import {boundsOf, spentBound, stepBound, usageOf} from '../../runtime/protocol/budget.ts'
import type {Event, Kind} from '../../runtime/protocol/event.ts'
import type {Budgets, Prices} from '../../runtime/protocol/pin.ts'
import {fold, repliedEvents, type Scribe, scribe} from '../support/events.ts'
import {pinWith} from '../support/pin.ts'

const start = 1_790_000_000_000
const prices: Prices = {currency: 'EUR', inputPerMillion: 3, outputPerMillion: 15}

type Told = [Kind, number]

/** A run with one reply of 10 and 5 tokens, then these events at so many seconds after its start. */
function runAfter(budgets: Partial<Budgets>, told: Told[] = [], priced = false) {
  const desk = scribe()
  const pin = pinWith({budgets, ...(priced && {model: {label: 'm', prices}})})
  const events = repliedEvents(desk).map(event => (event.kind === 'run.started' ? {...event, data: {pin}} : event))
  return fold([...(events as Event[]), ...told.map(each => toldBy(desk, each))]).run!
}

function toldBy(desk: Scribe, [kind, seconds]: Told): Event {
  return desk.event(kind, {at: start + seconds * 1000}) as Event
}

describe('budgets of a run', () => {
  const table: [string, Partial<Budgets>, string | null, string | null][] = [
    ['nothing is spent', {}, null, null],
    ['its steps are', {maxSteps: 1}, null, '1 steps'],
    ['its tokens are', {maxTokens: 15}, '15 tokens', '15 tokens'],
    ['one token is left', {maxTokens: 16}, null, null],
    ['it asked for more calls than it may make', {maxToolCalls: 2}, null, '2 tool calls'],
    ['it made every call it may make', {maxToolCalls: 3}, null, null],
    ['its cost is', {maxCost: 0.000105}, 'a cost of 0.000105 EUR', 'a cost of 0.000105 EUR'],
    ['its time is', {wallMs: 60_000}, '60 s of work', '60 s of work'],
    ['a second is left', {wallMs: 61_000}, null, null],
  ]
  test.each(table)('[BUD-1] when %s', (_, budgets, spent, step) => {
    const run = runAfter(budgets, [], true)
    expect(spentBound(run, start + 60_000)).toBe(spent)
    expect(stepBound(run, start + 60_000)).toBe(step)
  })

  test('[BUD-1] a bound on cost does not apply without prices, and says so instead of never being hit', () => {
    const run = runAfter({maxCost: 0.000001})
    expect(stepBound(run, start)).toBeNull()
    const cost = boundsOf(run, start).find(({name}) => name === 'cost')
    expect(cost).toMatchObject({applies: false, used: null, limit: 0.000001, why: expect.stringContaining('no prices')})
  })

  const waits: [string, Told[], number][] = [
    ['nothing', [], 100],
    [
      'an approval',
      [
        ['operation.proposed', 10],
        ['approval.requested', 10],
        ['approval.granted', 70],
      ],
      40,
    ],
    [
      'an approval that is still open',
      [
        ['operation.proposed', 10],
        ['approval.requested', 10],
      ],
      10,
    ],
    [
      'a sleep',
      [
        ['run.slept', 20],
        ['run.woken', 80],
      ],
      40,
    ],
    [
      'a retry',
      [
        ['run.failed', 30],
        ['run.retried', 50],
      ],
      80,
    ],
    [
      'more budget',
      [
        ['run.alerted', 30],
        ['run.extended', 90],
      ],
      40,
    ],
    ['nothing any more, since it has ended', [['run.cancelled', 25]], 25],
    [
      'an approval by a clock that goes back',
      [
        ['operation.proposed', 10],
        ['approval.requested', 50],
        ['approval.granted', 20],
      ],
      100,
    ],
  ]
  test.each(waits)('[BUD-1] the time of a run that waited for %s leaves the waiting out', (_, told, seconds) => {
    expect(usageOf(runAfter({}, told), start + 100_000).wallMs).toBe(seconds * 1000)
  })

  test('[BUD-2] an extension adds one whole budget to what was pinned, to every bound', () => {
    const before = boundsOf(runAfter({}), start)
    const after = boundsOf(
      runAfter({}, [
        ['run.alerted', 1],
        ['run.extended', 2],
        ['run.alerted', 3],
        ['run.extended', 4],
      ]),
      start,
    )
    for (const [i, bound] of after.entries()) {
      const {limit} = before[i]!
      expect(bound.limit).toBe(limit === null ? null : limit * 3)
    }
  })

  test('[BUD-2] replies whose provider counts nothing are counted as such, not as free', () => {
    const desk = scribe()
    const uncounted = desk.event('model.replied', {
      data: {...desk.data['model.replied'], usage: {inputTokens: null, outputTokens: null}},
    })
    const {run} = fold([...repliedEvents(desk).slice(0, 4), uncounted])
    expect(usageOf(run!)).toMatchObject({steps: 1, calls: 3, inputTokens: 0, outputTokens: 0, unreported: 1})
  })
})
