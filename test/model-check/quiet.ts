import {isActive} from '../../runtime/protocol/run.ts'
import {buildsOf, type Rules, stepOf} from './rules.ts'
import {Violation} from './violation.ts'
import {everyone, type Who, type World} from './world.ts'

/** A world in which nothing goes on by itself: it must be whole, the same everywhere, and one can say what it waits for. */
export function checkQuiet(rules: Rules, world: World): void {
  for (const who of everyone) {
    checkComplete(world, who)
    checkLevel(world, who)
  }
  checkExplained(rules, world)
}

function checkComplete({devices, server}: World, who: Who): void {
  const {id, pending, rejected, deviceSeq} = devices[who]
  if (pending.length > 0) throw new Violation('settles', `${pending[0]?.id} of ${id} has no verdict`)
  const confirmed = server.log.filter(event => event.device === id).length
  if (confirmed + rejected.length !== deviceSeq) {
    throw new Violation('lost', `${id} wrote ${deviceSeq} events, ${confirmed} are confirmed, ${rejected} rejected`)
  }
}

function checkLevel({devices, server}: World, who: Who): void {
  const {id, confirmed, current} = devices[who]
  const truth = JSON.stringify(server.state)
  if (JSON.stringify(confirmed) !== truth) throw new Violation('converges', `${id} has folded the log to another state`)
  if (JSON.stringify(current) !== truth) throw new Violation('converges', `${id} acts on a state that is not the log's`)
}

function checkExplained(rules: Rules, {devices, server, now}: World): void {
  const {run, operations, calls, custody, unanswered} = server.state
  const holder = devices.find(device => device.id === custody.holder)
  if (!holder) return
  const step = stepOf(rules, holder, now)
  if (server.state.unreadable) {
    if (step.do === 'idle' || (step.do === 'wait' && step.for === 'version')) return
    throw new Violation('explained', `the log cannot be read and ${holder.id} says ${step.do}`)
  }
  if (isActive(run)) {
    const awaiting = operations.some(operation => operation.status === 'awaiting_approval')
    if (step.do === 'wait' && step.for === 'approval' && awaiting) return
    const lacks = !buildsOf(holder.id).some(build => build.version === run?.pin.version)
    if (step.do === 'wait' && step.for === 'version' && lacks) return
    throw new Violation('explained', `the run is active, ${holder.id} says ${step.do}, and nobody is waited for`)
  }
  if (server.state.closed && step.do !== 'idle') throw new Violation('closed', `${holder.id} says ${step.do}`)
  if (step.do !== 'idle') throw new Violation('explained', `no run is active and ${holder.id} says ${step.do}`)
  if (run?.ended !== 'completed' || server.state.closed) return
  if (unanswered.length > 0) throw new Violation('explained', `the run is over and ${unanswered} is not answered`)
  const open = calls.find(call => call.run === run.id)
  if (open) throw new Violation('explained', `the run is over and its ${open.id} has no result`)
}
