import {expect, test} from 'vitest'
import {initialCustody} from '../../runtime/protocol/custody.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import {describeFound, explore} from './explore.ts'
import {type Rules, realRules as real} from './rules.ts'
import type {Invariant} from './violation.ts'
import {type Left, nothing, type Policy} from './world.ts'

type Planted = {
  bug: string
  breaks: Invariant
  rules: Partial<Rules>
  left?: Partial<Left>
  policies?: readonly Policy[]
  branch?: true
}

/** A judge or decider that looks at the state through rose-tinted glasses. */
function judging(blind: (state: SessionState, event: Event) => SessionState): Partial<Rules> {
  return {judgeEvent: (state, known, one) => real.judgeEvent(blind(state, one.event), known, one)}
}

function deciding(blind: (state: SessionState, event: Event) => SessionState): Partial<Rules> {
  return {decide: (state, event) => real.decide(blind(state, event), event)}
}

function withStatus(state: SessionState, from: readonly OperationStatus[], status: OperationStatus): SessionState {
  const operations = state.operations.map(one => (from.includes(one.status) ? {...one, status} : one))
  return {...state, operations}
}

function on(kind: Event['kind'], change: (state: SessionState) => SessionState) {
  return (state: SessionState, event: Event) => (event.kind === kind ? change(state) : state)
}

const late = {written: {}} as const

const awake = (state: SessionState): SessionState =>
  state.run?.rest?.asleep ? {...state, run: {...state.run, rest: null}} : state
const awakeUnlessWoken = (state: SessionState, event: Event) => (event.kind === 'run.woken' ? state : awake(state))

const planted: Planted[] = [
  {
    bug: 'the server starts a run beside one that is active',
    breaks: 'one run',
    rules: judging(on('run.started', state => ({...state, run: null, operations: []}))),
    left: {messages: 1, failures: 1, retries: 1},
  },
  {
    bug: 'a correction voids nothing',
    breaks: 'authority',
    rules: {
      judgeEvent: (...asked) => {
        const judgement = real.judgeEvent(...asked)
        return 'verdict' in judgement ? judgement : {consequences: []}
      },
    },
    left: {messages: 1, externals: 1},
  },
  {
    bug: 'an operation is carried out while it waits for approval',
    breaks: 'authority',
    rules: {
      moveFor: status => (status === 'awaiting_approval' ? 'execute' : real.moveFor(status)),
      ...deciding(on('operation.started', state => withStatus(state, ['awaiting_approval'], 'authorised'))),
    },
    left: {externals: 1},
    policies: ['ask'],
  },
  {
    bug: 'the epoch of an event is not looked at',
    breaks: 'epoch',
    rules: judging((state, event) => {
      const custody = event.epoch === undefined ? state.custody : {holder: event.device, epoch: event.epoch}
      return {...state, custody}
    }),
    left: {claims: 1},
  },
  {
    bug: 'a claim is granted whatever epoch it saw, as the same epoch again',
    breaks: 'epoch',
    rules: {
      judgeClaim: (custody, claim) => ({
        refusal: null,
        grant: {holder: claim.device, epoch: Math.max(2, custody.epoch), reason: 'requested'},
      }),
    },
    left: {claims: 2},
  },
  {
    bug: 'work done apart is taken although the holder has worked meanwhile',
    breaks: 'interleaved',
    rules: judging(on('custody.assumed', state => ({...state, worked: 0}))),
    left: {assumes: 1},
  },
  {
    bug: 'an approval can be used again',
    breaks: 'approval',
    rules: deciding(on('approval.granted', state => withStatus(state, ['authorised', 'started'], 'awaiting_approval'))),
    left: {externals: 1},
    policies: ['ask'],
  },
  {
    bug: 'an approval wakes an operation that was voided',
    breaks: 'approval',
    rules: deciding(on('approval.granted', state => withStatus(state, ['voided'], 'awaiting_approval'))),
    left: {externals: 1, messages: 1},
    policies: ['ask'],
  },
  {
    bug: 'the loop forgets open calls when there is a newer message, and nobody checks',
    breaks: 'results',
    rules: {
      nextStep: (state, here) =>
        real.nextStep(state.unanswered.length > 0 ? {...state, calls: [], operations: []} : state, here),
      ...deciding(on('step.prepared', state => ({...state, calls: [], operations: []}))),
    },
    left: {externals: 1, messages: 1},
  },
  {
    bug: 'the server takes a reply to a step that it refused',
    breaks: 'results',
    rules: {
      fencedOff: () => null,
      foldPending: (confirmed, pending) => pending.reduce(real.evolve, confirmed),
      judgeEvent: (state, known, one) => {
        const {event} = one
        const {run} = state
        const step = {id: event.step!, prepared: event.id, replied: false, final: false}
        return real.judgeEvent(
          event.kind === 'model.replied' && run ? {...state, run: {...run, step}} : state,
          known,
          one,
        )
      },
    },
    left: {claims: 2, interruptions: 2},
  },
  {
    bug: 'events of one device are taken in any order',
    breaks: 'order',
    rules: judging(state => ({...state, ...late})),
    left: {messages: 1, failures: 1, retries: 1, delays: 1},
  },
  {
    bug: 'an event that comes twice is stored twice',
    breaks: 'order',
    rules: {
      judgeEvent: (state, known, one) =>
        real.judgeEvent({...state, ...late}, {...known, events: new Map(), deviceSeqs: new Map()}, one),
    },
    left: {messages: 1, delays: 1},
  },
  {
    bug: 'a device takes events across a gap',
    breaks: 'lost',
    rules: {followOn: (events, head) => events.filter(event => (event.seq ?? 0) > head).slice(-1)},
    left: {messages: 1},
  },
  {
    bug: 'a refused message is dropped by the server',
    breaks: 'lost',
    rules: judging((state, event) =>
      event.kind === 'message.posted' && state.run ? {...state, session: null} : state,
    ),
    left: {messages: 1},
  },
  {
    bug: 'an operation that may have been carried out is started again',
    breaks: 'started once',
    rules: {
      moveFor: status => (status === 'started' ? 'execute' : real.moveFor(status)),
      ...deciding(on('operation.started', state => withStatus(state, ['started'], 'authorised'))),
    },
    left: {externals: 1, serverCrashes: 1},
  },
  {
    bug: 'a refusal is not heard, so the event is sent for ever',
    breaks: 'settles',
    rules: {rejections: () => []},
    left: {cancels: 1, interruptions: 1},
  },
  {
    bug: 'a fold forgets the custody that was granted, on the device only',
    breaks: 'converges',
    rules: {foldPending: (confirmed, pending) => real.foldPending({...confirmed, custody: initialCustody}, pending)},
    left: {claims: 1},
  },
  {
    bug: 'the loop rests although its operation has ended',
    breaks: 'explained',
    rules: {
      nextStep: (state, here) => {
        const step = real.nextStep(state, here)
        return step.do === 'record-results' ? {do: 'wait', for: 'operation', why: ''} : step
      },
    },
    left: {externals: 1},
  },
  {
    bug: 'a branch inherits what its parent waits for',
    breaks: 'fork',
    branch: true,
    rules: {
      evolve: (state, event) => {
        const next = real.evolve(state, event)
        if (event.kind !== 'session.forked') return next
        const open = {id: 'opn-parent', call: 'call-parent', run: 'run-parent', tool: 'refundOrder', basis: {}}
        const operation = {...open, status: 'awaiting_approval', approval: null, outcome: null}
        return {...next, operations: [operation as unknown as SessionState['operations'][number]]}
      },
    },
    left: {strays: 1},
  },
  {
    bug: 'nobody reads the facts again before an operation starts',
    breaks: 'facts',
    rules: {isStale: () => false},
    left: {locals: 1, externals: 1, factChanges: 1},
  },
  {
    bug: 'the loop goes on over an event that it cannot read',
    breaks: 'unreadable',
    rules: {nextStep: (state, here) => real.nextStep({...state, unreadable: null}, here)},
    left: {unreadables: 1, messages: 1},
  },
  {
    bug: 'a sleeping run works on, and nobody checks',
    breaks: 'asleep',
    rules: {
      nextStep: (state, here) => real.nextStep(awake(state), here),
      ...deciding(awakeUnlessWoken),
      ...judging(awakeUnlessWoken),
    },
    left: {sleeps: 1},
  },
  {
    bug: 'a run starts in a session that was closed elsewhere',
    breaks: 'closed',
    rules: judging(on('run.started', state => ({...state, closed: null, run: null, operations: []}))),
    left: {closings: 1, messages: 1, failures: 1},
  },
  {
    bug: 'a run moves to a version under which its open call was not checked',
    breaks: 'pin',
    rules: judging(on('run.migrated', state => ({...state, calls: []}))),
    left: {migrations: 1, locals: 1, interruptions: 2},
  },
  {
    bug: 'a run that was extended twice at once runs twice',
    breaks: 'one run',
    rules: judging(
      on('run.extended', state => (state.run ? {...state, run: {...state.run, ended: 'alerted'}} : state)),
    ),
    left: {extensions: 2, locals: 2},
  },
  {
    bug: 'the loop asks for what its own log refuses',
    breaks: 'loop',
    rules: {nextStep: (state, here) => (state.run ? real.nextStep(state, here) : {do: 'finish'})},
  },
]

test.each(planted.map(one => [one.bug, one] as const))('[RUN-1] the checker finds it when %s', (_, one) => {
  const {breaks, rules, left = {}, policies = ['allow'], branch} = one
  const scenario = {name: one.bug, left: {...nothing, ...left}, policies, maxSteps: 2, ...(branch && {branch})}
  const {found} = explore(scenario, {maxStates: 50_000, rules: {...real, ...rules}})
  expect(found, 'the planted bug was not found').not.toBeNull()
  const told = describeFound(found!)
  expect(found!.invariant, told).toBe(breaks)
  expect(told).toMatch(/shortest way there:\n {2}1\. /)
  expect(explore(scenario, {maxStates: 3000}).found, 'without the bug there is nothing to find').toBeNull()
})
