import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {buildView} from '../../runtime/loop/prepare-view.ts'
import {selectEvents} from '../../runtime/loop/select-events.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {estimateTokens} from '../../runtime/protocol/estimate-tokens.ts'
import type {EventOf, LoggedEvent} from '../../runtime/protocol/event.ts'
import type {CallId} from '../../runtime/protocol/ids.ts'
import {desk} from '../support/desk.ts'
import {call, scribe} from '../support/events.ts'

const {event, data} = scribe()
const message = (text: string) => event('message.posted', {data: {text}}) as LoggedEvent
const reply = (calls: CallId[], text = 'ok') =>
  event('model.replied', {
    data: {...data['model.replied'], content: [{type: 'text', text}, ...calls.map(id => call(id, 'lookupOrder'))]},
  }) as LoggedEvent
const returned = (id: CallId, outcome: 'ok' | 'error' | 'denied' | 'aborted' | 'superseded' = 'ok', output = 'x') =>
  event('tool.returned', {data: {call: id, outcome, output}}) as LoggedEvent

/** Turns as they happen: messages may come between a reply and its results. */
const logs: fc.Arbitrary<LoggedEvent[]> = fc
  .array(
    fc.record({
      calls: fc.integer({min: 0, max: 3}),
      steer: fc.boolean(),
      ask: fc.boolean(),
      size: fc.integer({min: 1, max: 400}),
    }),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map(turns =>
    turns.flatMap(({calls, steer, ask, size}, i) => {
      const ids = Array.from({length: calls}, () => env.id('call'))
      const answers = ids.map(id => returned(id, 'ok', 'y'.repeat(size)))
      const middle = steer ? [answers[0], message('steer'), ...answers.slice(1)] : answers
      const asked = ask || i === 0 ? [message('q'.repeat(size))] : []
      return [...asked, reply(ids), ...middle.filter(one => one !== undefined)]
    }),
  )

const callsIn = (events: readonly LoggedEvent[]) =>
  events.flatMap(each =>
    each.kind === 'model.replied' && !('unreadable' in each)
      ? each.data.content.flatMap(part => (part.type === 'call' ? [part.call] : []))
      : [],
  )
const resultsIn = (events: readonly LoggedEvent[]) =>
  events.flatMap(each => (each.kind === 'tool.returned' && !('unreadable' in each) ? [each.data.call] : []))

describe('what is selected', () => {
  test('[VIEW-3] no budget and no log ever parts a call from its result, or loses the last message', () => {
    fc.assert(
      fc.property(logs, fc.integer({min: 1, max: 2000}), (events, budget) => {
        const chosen = selectEvents(events, budget)
        expect(callsIn(chosen).sort()).toEqual(resultsIn(chosen).sort())
        expect(chosen.map(({id}) => id)).toContain(events.findLast(each => each.kind === 'message.posted')?.id)
        expect(chosen[0]?.kind).toBe('message.posted')
        const order = chosen.map(one => events.findIndex(({id}) => id === one.id))
        expect(order).toEqual([...order].sort((a, b) => a - b))
      }),
      {numRuns: 300},
    )
  })

  test('[VIEW-4] what can be left out to keep the budget is left out, and no more', () => {
    const sized = (text: string) => estimateTokens({text})
    const log = ['one', 'two', 'three', 'four'].map(message)
    const budget = sized('four') + sized('three')
    expect(selectEvents(log, budget).map(each => (each as EventOf<'message.posted'>).data.text)).toEqual([
      'three',
      'four',
    ])
    expect(selectEvents(log, budget - 1)).toHaveLength(1)
    expect(selectEvents(log, 10_000)).toHaveLength(4)
  })

  test('[VIEW-4] a turn longer than the budget keeps its question and its newest exchanges', () => {
    const ids = Array.from({length: 30}, () => env.id('call'))
    const turn = [message('the question'), ...ids.flatMap(id => [reply([id]), returned(id, 'ok', 'z'.repeat(300))])]
    const chosen = selectEvents(turn, 500)
    expect(chosen[0]).toBe(turn[0])
    expect(chosen.at(-1)).toBe(turn.at(-1))
    expect(chosen.length).toBeLessThan(12)
    expect(callsIn(chosen)).toEqual(resultsIn(chosen))
  })

  test('[LOG-4] what cannot be read and what is not for a model is left out', () => {
    const strange = {...message('x'), unreadable: 'newer'} as LoggedEvent
    const log = [message('q'), strange, event('run.started') as LoggedEvent]
    expect(selectEvents(log, 1000)).toHaveLength(1)
  })
})

describe('what is built', () => {
  test('[VIEW-2] the same events give the same bytes, and the chosen ones give them again', () => {
    fc.assert(
      fc.property(logs, events => {
        const chosen = selectEvents(events, 500)
        const view = buildView(desk, chosen)
        const again = buildView(
          desk,
          view.events.map(id => events.find(each => each.id === id)!),
        )
        expect(JSON.stringify(again)).toBe(JSON.stringify(view))
      }),
    )
  })

  test('[VIEW-3] each call is followed at once by its result, whatever came between them', () => {
    fc.assert(
      fc.property(logs, events => {
        const {prompt} = buildView(desk, events)
        prompt.forEach((each, i) => {
          const calls = each.role === 'assistant' ? each.content.filter(part => part.type === 'tool-call') : []
          if (calls.length === 0) return
          const next = prompt[i + 1]
          const answers =
            next?.role === 'tool' ? next.content.map(part => part.type === 'tool-result' && part.toolCallId) : []
          expect(answers).toEqual(calls.map(part => part.type === 'tool-call' && part.toolCallId))
        })
      }),
    )
  })

  test('[RUN-3] a message between a reply and its results comes after them', () => {
    const id = env.id('call')
    const {prompt} = buildView(desk, [message('q'), reply([id]), message('steer'), returned(id)])
    expect(prompt.map(({role}) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'user'])
  })

  const outputs: [Parameters<typeof returned>[1], object][] = [
    ['ok', {type: 'json', value: 'x'}],
    ['error', {type: 'error-json', value: 'x'}],
    ['denied', {type: 'execution-denied', reason: '"x"'}],
    ['aborted', {type: 'error-json', value: {aborted: 'x'}}],
    ['superseded', {type: 'error-json', value: {superseded: 'x'}}],
  ]
  test.each(outputs)('[LOG-7] a result that is %s says so to the model', (outcome, output) => {
    const id = env.id('call')
    const last = buildView(desk, [message('q'), reply([id]), returned(id, outcome)]).prompt.at(-1)
    expect(last).toMatchObject({role: 'tool', content: [{output}]})
  })

  test('[VIEW-1] a call without a result, an empty text and an empty reply are not shown to a provider', () => {
    const {prompt} = buildView(desk, [message('q'), reply([env.id('call')], ''), reply([], '')])
    expect(prompt.map(({role}) => role)).toEqual(['system', 'user'])
  })

  test('[VIEW-1] what a provider attached to its own output travels back to it', () => {
    const signed = {acme: {signature: 's'}}
    const content = [
      {type: 'reasoning' as const, text: '', providerMetadata: signed},
      {...call(env.id('call'), 'lookupOrder'), providerMetadata: signed},
    ]
    const turn = event('model.replied', {data: {...data['model.replied'], content}}) as LoggedEvent
    const {prompt} = buildView(desk, [message('q'), turn, returned((content[1] as {call: CallId}).call)])
    expect(prompt[2]).toMatchObject({content: [{providerOptions: signed}, {providerOptions: signed}]})
  })
})
