import {describe, expect, test} from 'vitest'
import {boundsOf, spentBound, stepBound, usageOf} from '../../runtime/protocol/budget.ts'
import type {Event, Kind} from '../../runtime/protocol/event.ts'
import type {Budgets, Prices} from '../../runtime/protocol/pin.ts'
import {fold, repliedEvents, type Scribe, scribe} from '../support/events.ts'
import {pinWith} from '../support/pin.ts'

const start = 1_790_000_000_000
const prices: Prices = {currency: 'EUR', inputPerMillion: 3, outputPerMillion: 15}

type Told = [Kind, number]

/** A run with one reply of 10 and 5 tokens, then these events at so many milliseconds after its start. */
function runAfter(budgets: Partial<Budgets>, told: Told[] = [], priced = false) {
  const desk = scribe()
  const pin = pinWith({budgets, ...(priced && {model: {label: 'm', prices}})})
  const events = repliedEvents(desk).map(event => (event.kind === 'run.started' ? {...event, data: {pin}} : event))
  return fold([...(events as Event[]), ...told.map(each => toldBy(desk, each))]).run!
}

function toldBy(desk: Scribe, [kind, ms]: Told): Event {
  return desk.event(kind, {at: start + ms}) as Event
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
    expect(spentBound(run, 60_000)).toBe(spent)
    expect(stepBound(run, 60_000)).toBe(step)
  })

  test('[BUD-1] a bound on cost does not apply without prices, and says so instead of never being hit', () => {
    const run = runAfter({maxCost: 0.000001})
    expect(stepBound(run, 0)).toBeNull()
    const cost = boundsOf(run).find(({name}) => name === 'cost')
    expect(cost).toMatchObject({applies: false, used: null, limit: 0.000001, why: expect.stringContaining('no prices')})
  })

  const hour = 3_600_000
  const hours = 5 * hour
  const clocks: [string, Told[]][] = [
    ['that stand still', []],
    ['that leap ahead by hours', [['run.resumed', hours]]],
    ['that go back by years', [['run.resumed', -365 * 24 * hour]]],
    [
      'that differ from device to device',
      [
        ['run.resumed', 7],
        ['run.resumed', -hours],
        ['run.resumed', hours],
      ],
    ],
    [
      'while it waits for an approval',
      [
        ['operation.proposed', 1],
        ['approval.requested', 2],
        ['approval.granted', hours],
      ],
    ],
    [
      'while it sleeps',
      [
        ['run.slept', 1],
        ['run.woken', hours],
      ],
    ],
    [
      'while it has failed',
      [
        ['run.failed', 1],
        ['run.retried', hours],
      ],
    ],
  ]
  test.each(clocks)('[BUD-3] clocks %s are no work', (_, told) => {
    expect(usageOf(runAfter({}, told)).wallMs).toBe(0)
  })

  test('[BUD-3] work is what the holders have measured, each between its own events', () => {
    const desk = scribe()
    const measured: [Kind, number][] = [
      ['run.resumed', 200],
      ['tool.called', 0],
      ['tool.returned', 3000],
    ]
    const events = [...repliedEvents(desk), ...measured.map(([kind, workMs]) => desk.event(kind, {workMs}))] as Event[]
    expect(usageOf(fold(events).run!).wallMs).toBe(3200)
    expect(usageOf(fold(events).run!, 50).wallMs).toBe(3250)
  })

  test('[BUD-2] an extension adds one whole budget to what was pinned, to every bound', () => {
    const before = boundsOf(runAfter({}))
    const after = boundsOf(
      runAfter({}, [
        ['run.alerted', 1],
        ['run.extended', 2],
        ['run.alerted', 3],
        ['run.extended', 4],
      ]),
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
