import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {decide} from '../../runtime/protocol/decide.ts'
import type {Event, Kind, LoggedEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import {isActive} from '../../runtime/protocol/run.ts'
import {initialSession, type SessionState} from '../../runtime/protocol/session.ts'
import {cast, dataOf, fold, repliedEvents, scribe} from '../support/events.ts'

const kinds = Object.keys(dataOf(cast())) as Kind[]

/** Events about the same few runs, calls and operations, in any order and any number. */
function soup(): fc.Arbitrary<LoggedEvent[]> {
  const desk = scribe()
  const rival = scribe({...desk.names, run: env.id('run'), operation: env.id('operation'), first: desk.names.second})
  const one = fc.record({
    kind: fc.constantFrom(...kinds),
    from: fc.constantFrom(desk, rival),
    epoch: fc.constantFrom(1, 2),
    attempt: fc.constantFrom(1, 2),
    seq: fc.option(fc.integer({min: 1, max: 50})),
    unreadable: fc.integer({min: 0, max: 30}).map(n => n === 0),
  })
  return fc.array(one, {maxLength: 60}).map(made =>
    made.map(({kind, from, epoch, attempt, seq, unreadable}): LoggedEvent => {
      const event = from.event(kind, {epoch, attempt, seq}) as LoggedEvent
      return unreadable ? ({...event, unreadable: 'newer'} as LoggedEvent) : event
    }),
  )
}

function active(state: SessionState): number {
  return isActive(state.run) ? 1 : 0
}

describe('any order of any events', () => {
  test('[RUN-1] folds without a throw to a state that JSON can keep', () => {
    fc.assert(
      fc.property(soup(), events => {
        const state = events.reduce(evolve, initialSession)
        expect(JSON.parse(JSON.stringify(state))).toStrictEqual(state)
        expect(state.head).toBe(Math.max(0, ...events.map(event => event.seq ?? 0)))
      }),
      {numRuns: 200},
    )
  })

  test('[RUN-2] what decide lets through never has two runs active, two operations for a call, or a run that woke from the dead', () => {
    fc.assert(
      fc.property(soup(), events => {
        let state = initialSession
        const running = new Set<string>()
        for (const event of events) {
          if ('unreadable' in event || decide(state, event).refusal) continue
          if (event.kind === 'run.started' || event.kind === 'run.retried') running.add(event.run ?? '')
          if (/^run\.(completed|failed|cancelled)$/.test(event.kind)) running.delete(event.run ?? '')
          state = evolve(state, event)
          expect(running.size).toBe(active(state))
          const rivals = state.operations.map(operation => operation.call)
          expect(new Set(rivals).size).toBe(rivals.length)
        }
      }),
      {numRuns: 300},
    )
  })

  test('[LOG-2] clocks order nothing: with other times the same events fold to the same state but for how long it took', () => {
    fc.assert(
      fc.property(soup(), fc.array(fc.integer(), {minLength: 60, maxLength: 60}), (events, times) => {
        const shifted = events.map((event, i) => ({...event, at: times[i] ?? 0}))
        expect(timeless(shifted.reduce(evolve, initialSession))).toStrictEqual(
          timeless(events.reduce(evolve, initialSession)),
        )
      }),
    )
  })
})

function timeless(state: SessionState) {
  return {...state, run: state.run && {...state.run, rest: state.run.rest && {...state.run.rest, forMs: 0}}}
}

describe('control state', () => {
  const {event, names, data} = scribe()
  const replied = fold(repliedEvents({event, names, data, envelope: scribe().envelope}))

  test('[LOG-6] a reply brings all of its calls at once, oldest first, with the effects that the run pinned', () => {
    expect(replied.calls.map(({id, effect}) => [id, effect])).toEqual([
      [names.read, 'read'],
      [names.first, 'external'],
      [names.second, 'external'],
    ])
  })

  test('[OP-1] a call of a tool that the run did not pin has no effect to trust', () => {
    const content = [{type: 'call' as const, call: names.read, providerCall: 'p', tool: 'wipeDisk', input: {}}]
    const events = repliedEvents({event, names, data, envelope: scribe().envelope}).slice(0, 4)
    const reply = event('model.replied', {data: {...data['model.replied'], content}})
    expect(fold([...events, reply]).calls[0]?.effect).toBe('unknown')
  })

  test('[OP-3] an operation leaves the control state only when it has ended and its call has its result', () => {
    const ended: Event[] = [event('operation.proposed'), event('operation.refused')]
    const open = fold(ended, replied)
    expect(open.operations.map(({status}) => status)).toEqual(['refused'])
    const returned = event('tool.returned', {data: {call: names.first, outcome: 'error', output: null}})
    expect(fold([returned], open).operations).toEqual([])
  })

  test('[RUN-3] a message stays unanswered until a step says that it has seen it', () => {
    const late = event('message.posted')
    const state = fold([late], replied)
    expect(state.unanswered).toEqual([late.id])
    const seen = event('step.prepared', {
      data: {...data['step.prepared'], manifest: {...data['step.prepared'].manifest, answers: [late.id]}},
    })
    expect(fold([seen], state).unanswered).toEqual([])
  })

  test('[LOG-4] the first event that cannot be read is remembered, later readable ones still fold', () => {
    const strange = {...event('message.posted'), unreadable: 'kind "x.y" is not known'} as LoggedEvent
    const state = [strange, event('custody.granted')].reduce(evolve, replied)
    expect(state.unreadable?.event).toBe(strange.id)
    expect(state.custody).toEqual({holder: names.other, epoch: 2})
  })

  test('[RUN-5] a retry is a new attempt of the same run and forgets nothing of what it used', () => {
    const state = fold([event('run.failed'), event('run.retried')] as Event[], replied)
    expect(state.run).toMatchObject({id: names.run, attempt: 2, ended: null, steps: 1, usage: {inputTokens: 10}})
    expect(state.calls).toHaveLength(3)
  })
})
