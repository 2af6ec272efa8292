import type {OperationId, RunId} from '../../runtime/protocol/ids.ts'
import {runStatus} from '../../runtime/protocol/run.ts'
import {begin, canWork, finish, migrate, moveRun, post, type Reply, receive, reject, say} from './device-moves.ts'
import {type Rules, stepOf} from './rules.ts'
import {admit, approvalOf, claim, type Decision, decideApproval, drive, speak, writeUnreadable} from './server-moves.ts'
import {Violation} from './violation.ts'
import {
  everyone,
  type Left,
  type Packet,
  type Scenario,
  type Server,
  spend,
  type Who,
  type World,
  withDevice,
  without,
} from './world.ts'

/** `progress`: it happens by itself sooner or later; anything else needs a person, a fault or the clock. */
export type Move = {name: string; progress: boolean; next: () => World | null}

type Context = {rules: Rules; scenario: Scenario; world: World}

/** Everything that may happen next. */
export function movesOf(context: Context): Move[] {
  return [
    ...everyone.flatMap(who => [
      ...loopMoves(context, who),
      ...syncMoves(context, who),
      ...personMoves(context, who),
      ...crashMoves(context, who),
    ]),
    ...context.world.wire.flatMap(packet => wireMoves(context, packet)),
    ...operationMoves(context),
    ...approverMoves(context),
    ...outsideMoves(context),
  ]
}

/**
 * A loop works until it rests or asks the model, which takes long enough for anything to happen; being interrupted
 * elsewhere, after a step or in the middle of one, is what a scenario pays for.
 */
function loopMoves({rules, scenario, world}: Context, who: Who): Move[] {
  const device = world.devices[who]
  const step = device.busy?.step ?? stepOf(rules, device, world.now)
  if (!canWork(step)) return []
  const begun = device.busy ? world : begin(rules, world, who)
  const moves = outcomes(step.do, world.left).flatMap(({reply, cost}): Move[] => {
    const name = `${device.id}: ${step.do}${step.do === 'call-model' ? ` → ${reply}` : ''}`
    const one = () => finish(rules, scenario, cost.reduce(spend, begun), who, reply)
    const all: Move = {name: `${name} …`, progress: true, next: () => workOn({rules, scenario, world: one()}, who)}
    if (world.left.interruptions === 0) return [all]
    return [all, {name, progress: false, next: () => spend(one(), 'interruptions')}]
  })
  if (!device.busy && world.left.interruptions > 0) {
    moves.push({name: `${device.id}: begins to ${step.do}`, progress: false, next: () => spend(begun, 'interruptions')})
  }
  return moves
}

function workOn({rules, scenario, world}: Context, who: Who): World {
  let now = world
  for (let steps = 0; steps < 50; steps++) {
    const device = now.devices[who]
    const step = device.busy?.step ?? stepOf(rules, device, now.now)
    if (!canWork(step) || step.do === 'call-model') return now
    now = finish(rules, scenario, device.busy ? now : begin(rules, now, who), who, 'final')
  }
  throw new Violation('loop', `${world.devices[who].id} works without end`)
}

type Outcome = {reply: Reply | 'fails'; cost: (keyof Left)[]}

function outcomes(step: string, left: Left): Outcome[] {
  if (step !== 'call-model') return [{reply: 'final', cost: []}]
  const external: Outcome[] = left.externals > 0 ? [{reply: 'external', cost: ['externals']}] : []
  const pair: Outcome[] = left.externals > 1 ? [{reply: 'pair', cost: ['externals', 'externals']}] : []
  const local: Outcome[] = left.locals > 0 ? [{reply: 'local', cost: ['locals']}] : []
  const nap: Outcome[] = left.sleeps > 0 ? [{reply: 'nap', cost: ['sleeps']}] : []
  const fails: Outcome[] = left.failures > 0 ? [{reply: 'fails', cost: ['failures']}] : []
  return [{reply: 'final', cost: []}, ...external, ...pair, ...local, ...nap, ...fails]
}

/** A push and its answer in one go, unless the scenario can afford that it takes time. */
function syncMoves({rules, world}: Context, who: Who): Move[] {
  const device = world.devices[who]
  const {server, left} = world
  const waiting = world.wire.some(
    packet => (packet.type === 'push' && packet.live && packet.from === who) || answers(packet, who),
  )
  const {answered} = device
  if (answered) {
    return [{name: `${device.id}: takes the verdicts`, progress: true, next: () => settle(rules, world, who, answered)}]
  }
  if (waiting) return []
  const moves: Move[] = []
  const batch = device.pending
  const behind = server.state.head > device.confirmed.head
  const pulled = (count?: number) =>
    receive(rules, world, who, server.log.slice(device.confirmed.head, count && device.confirmed.head + count))
  if (batch.length > 0) {
    moves.push({
      name: `${device.id}: pushes ${batch.map(event => event.id)}`,
      progress: true,
      next: () => {
        const admitted = admit(rules, server, batch)
        const told = takeAnswer(rules, {...world, server: admitted.server}, who, {batch, answer: admitted.answer})
        return settle(rules, told, who, admitted.answer)
      },
    })
    if (left.delays > 0) {
      const packet: Packet = {type: 'push', from: who, batch, live: true}
      moves.push({
        name: `${device.id}: sends ${batch.map(event => event.id)}`,
        progress: false,
        next: () => spend({...world, wire: [...world.wire, packet]}, 'delays'),
      })
    }
  }
  if (behind && !isOnlooker(world, who)) moves.push({name: `${device.id}: pulls`, progress: true, next: () => pulled()})
  if (behind && left.shortPulls > 0) {
    moves.push({name: `${device.id}: pulls one`, progress: false, next: () => spend(pulled(1), 'shortPulls')})
  }
  return moves
}

/** Neither holds custody nor has anything left to say: when it pulls makes no difference to anybody. */
export function isOnlooker({devices, server, left}: World, who: Who): boolean {
  const {id, pending, confirmed, busy} = devices[who]
  if (server.state.custody.holder === id || confirmed.custody.holder === id || pending.length > 0 || busy) return false
  const {messages, cancels, retries, claims, assumes, extensions, migrations, closings} = left
  return messages + cancels + retries + claims + assumes + extensions + migrations + closings === 0
}

function answers(packet: Packet, who: Who): boolean {
  return packet.type === 'answer' && packet.to === who
}

type Answered = Pick<Extract<Packet, {type: 'answer'}>, 'batch' | 'answer'>

function takeAnswer(rules: Rules, world: World, who: Who, {batch, answer}: Answered): World {
  const accepted = rules.acceptedInOrder(batch, answer.verdicts) as ((typeof batch)[number] & {seq: number})[]
  return receive(rules, world, who, accepted)
}

/** First what the server judged by, then its verdicts, as `syncSession` does. */
function settle(rules: Rules, world: World, who: Who, answer: Answered['answer']): World {
  const {confirmed} = world.devices[who]
  const level =
    confirmed.head < answer.head ? receive(rules, world, who, world.server.log.slice(confirmed.head)) : world
  return withDevice(reject(rules, level, who, answer), who, {answered: null})
}

function wireMoves({rules, world}: Context, packet: Packet): Move[] {
  const rest: World = {...world, wire: without(world.wire, packet)}
  switch (packet.type) {
    case 'claim':
      return [
        {
          name: `server: takes the claim of ${packet.from} after epoch ${packet.sawEpoch}`,
          progress: true,
          next: () => ({...rest, server: claim(rules, world.server, packet.from, packet.sawEpoch)}),
        },
      ]
    case 'answer':
      return answerMoves(rules, world, rest, packet)
    case 'push':
      return pushMoves(rules, world, rest, packet)
  }
}

function answerMoves(rules: Rules, world: World, rest: World, packet: Extract<Packet, {type: 'answer'}>): Move[] {
  const {to: who, answer} = packet
  const name = world.devices[who].id
  const taken = () => takeAnswer(rules, rest, who, packet)
  return [
    {name: `${name}: hears the answer`, progress: true, next: () => settle(rules, taken(), who, answer)},
    {name: `${name}: hears half`, progress: false, next: () => withDevice(taken(), who, {answered: answer})},
    {name: `${name}: loses the answer`, progress: false, next: () => rest},
  ]
}

function pushMoves(rules: Rules, world: World, rest: World, packet: Extract<Packet, {type: 'push'}>): Move[] {
  const ids = packet.batch.map(event => event.id)
  const {devices} = world
  const name = devices[packet.from].id
  const straggler: Packet = {...packet, live: false}
  const handled = (and: Packet[]): World => {
    const {server, answer} = admit(rules, world.server, packet.batch)
    const reply: Packet[] = packet.live ? [{type: 'answer', to: packet.from, batch: packet.batch, answer}] : []
    return {...rest, server, wire: [...rest.wire, ...reply, ...and]}
  }
  const moves: Move[] = [
    {name: `server: takes ${packet.live ? '' : 'late '}${ids}`, progress: true, next: () => handled([])},
  ]
  if (!packet.live) return moves
  return [
    ...moves,
    {name: `server: takes ${ids}, a double follows`, progress: false, next: () => handled([straggler])},
    {name: `${name}: loses ${ids}`, progress: false, next: () => rest},
    {
      name: `${name}: gives up on ${ids}`,
      progress: false,
      next: () => ({...rest, wire: [...rest.wire, straggler]}),
    },
  ]
}

function personMoves({rules, world}: Context, who: Who): Move[] {
  const device = world.devices[who]
  const {left} = world
  const {current} = device
  if (!current.session) return []
  const moves: Move[] = []
  const add = (what: keyof Left, name: string, next: (world: World) => World | null) => {
    if (left[what] > 0)
      moves.push({name: `${device.id}: ${name}`, progress: false, next: () => next(spend(world, what))})
  }
  add('messages', 'posts', now => post(rules, now, who))
  if (current.custody.holder !== device.id) {
    const data = {epoch: current.custody.epoch + 1, restsOn: device.confirmed.head}
    add('assumes', 'goes on offline', now => say(rules, now, who, {kind: 'custody.assumed', data}))
  }
  if (current.run) {
    add('cancels', 'cancels', now => moveRun(rules, now, who, 'run.cancelled'))
    if (runStatus(current.run, current.operations) === 'failed_retryable') {
      add('retries', 'retries', now => moveRun(rules, now, who, 'run.retried'))
    }
    if (current.run.ended === 'alerted') add('extensions', 'extends', now => moveRun(rules, now, who, 'run.extended'))
    add('migrations', 'migrates', now => migrate(rules, now, who))
  }
  add('closings', 'closes', now => say(rules, now, who, {kind: 'session.closed', data: {}}))
  if (current.custody.holder !== device.id || device.confirmed.custody.holder !== device.id) {
    const sawEpoch = device.confirmed.custody.epoch
    if (device.confirmed.session) {
      add('claims', 'claims', now => ({...now, server: claim(rules, now.server, who, sawEpoch)}))
      if (left.delays > 0) {
        const packet: Packet = {type: 'claim', from: who, sawEpoch}
        add('claims', 'sends a claim', now => ({...now, wire: [...now.wire, packet]}))
      }
    }
  }
  return moves
}

/** All that the log does not hold is gone; what was sent is on its way all the same. */
function crashMoves({world}: Context, who: Who): Move[] {
  const device = world.devices[who]
  const sent = world.wire.some(packet => (packet.type === 'push' && packet.from === who) || answers(packet, who))
  if (world.left.crashes === 0 || (!device.busy && !device.answered && !sent)) return []
  const wire = world.wire.flatMap((packet): Packet[] => {
    if (answers(packet, who)) return []
    return packet.type === 'push' && packet.from === who ? [{...packet, live: false}] : [packet]
  })
  const next = () => spend(withDevice({...world, wire}, who, {busy: null, answered: null}), 'crashes')
  return [{name: `${device.id}: crashes`, progress: false, next}]
}

function operationMoves({rules, scenario, world}: Context): Move[] {
  const {server, left} = world
  const changed = (after: Server | null): World | null => after && {...world, server: after}
  const moves = server.state.operations.flatMap(operation =>
    drive(rules, world, operation, scenario.policies).map(
      ({name, next}): Move => ({name, progress: true, next: () => changed(next())}),
    ),
  )
  if (server.calling && left.serverCrashes > 0) {
    const next = () => spend({...world, server: {...server, calling: null}}, 'serverCrashes')
    moves.push({name: 'server: crashes during the call', progress: false, next})
  }
  return moves
}

/** Decisions come for every approval that was ever asked for, also when it is long closed. */
function approverMoves({rules, world}: Context): Move[] {
  const {server, left} = world
  return asked(server).flatMap(({id, run}) => {
    const late = server.overdue.includes(approvalOf(id))
    const decided = (decision: Decision): World | null => {
      const after = decideApproval(rules, server, {id, run}, decision)
      return after && {...world, server: after}
    }
    const moves: Move[] = [
      {name: `approver: grants ${id}`, progress: false, next: () => decided('approval.granted')},
      {name: `approver: rejects ${id}`, progress: false, next: () => decided('approval.rejected')},
    ]
    if (late) moves.push({name: `sweep: expires ${id}`, progress: true, next: () => decided('approval.expired')})
    else if (left.expiries > 0) {
      const overdue = [...server.overdue, approvalOf(id)]
      const next = () => spend({...world, server: {...server, overdue}}, 'expiries')
      moves.push({name: `clock: ${id} is overdue`, progress: false, next})
    }
    return moves
  })
}

/** What neither devices, server nor approver of this session do. */
function outsideMoves({rules, world}: Context): Move[] {
  const {server, left} = world
  const moves: Move[] = []
  const add = (what: keyof Left, name: string, next: () => Server | null) => {
    if (left[what] === 0) return
    moves.push({name, progress: false, next: () => spend({...world, server: next() ?? server}, what)})
  }
  add('factChanges', 'shop: changes the order', () => ({...server, fact: server.fact + 1}))
  const {run} = server.state
  if (run) {
    const woken = {kind: 'run.woken', run: run.id, data: {by: 'outside'}} as const
    add('wakes', 'outside: wakes the run', () => speak(rules, server, woken))
  }
  if (server.state.session) add('unreadables', 'newer build: writes', () => writeUnreadable(rules, server))
  const parents = {id: 'opn-parent' as OperationId, run: 'run-parent' as RunId}
  add('strays', 'approver: grants what the parent session left open', () =>
    decideApproval(rules, server, parents, 'approval.granted'),
  )
  if (someoneSleeps(world)) {
    moves.push({name: 'clock: morning comes', progress: true, next: () => ({...world, now: world.now + 1})})
  }
  return moves
}

/** Time passes only while a run waits for it, so that there are no more times than sleeps. */
function someoneSleeps({devices, server, now}: World): boolean {
  return [server.state, ...devices.map(device => device.current)].some(({run}) => (run?.rest?.until ?? 0) > now)
}

function asked({log}: Server): {id: OperationId; run: RunId}[] {
  return log.flatMap(event =>
    event.kind === 'approval.requested' && event.run ? {id: event.data.operation, run: event.run} : [],
  )
}
