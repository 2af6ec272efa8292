import type {Event, EventOf} from '../../runtime/protocol/event.ts'
import type {CallId, DeviceId, OperationId, RunId, StepId} from '../../runtime/protocol/ids.ts'
import {Violation} from './violation.ts'
import {tools} from './world.ts'

type OperationHistory = {
  id: OperationId
  authority: 'none' | 'given' | 'gone'
  granted: boolean
  corrected: boolean
  started: boolean
}

/**
 * What an observer of the confirmed log knows, kept apart from the code under test: it reads kinds and ids only, so that
 * a fault in `decide` or `evolve` cannot hide itself.
 */
export type History = {
  seq: number
  active: readonly RunId[]
  holder: DeviceId | null
  epoch: number
  /** Where the last work under an epoch stands. */
  worked: number
  lastOf: Readonly<Record<string, number>>
  step: {id: StepId | undefined; replied: boolean} | null
  open: readonly {id: CallId; tool: string; run: RunId | undefined}[]
  asleep: RunId | null
  closed: boolean
  operations: readonly OperationHistory[]
}

export const noHistory: History = {
  seq: 0,
  active: [],
  holder: null,
  epoch: 0,
  worked: 0,
  lastOf: {},
  step: null,
  open: [],
  asleep: null,
  closed: false,
  operations: [],
}

/** Adds one confirmed event, or says which promise it breaks. */
export function observe(history: History, event: Event & {seq: number}): History {
  const placed = place(history, event)
  const fenced = fence(placed, event)
  return observeOperation(observeRun(fenced, event), event)
}

function place(history: History, event: Event & {seq: number}): History {
  if (event.seq !== history.seq + 1) throw new Violation('order', `seq ${event.seq} follows ${history.seq}`)
  if (event.device === null) return {...history, seq: event.seq}
  const last = history.lastOf[event.device] ?? 0
  const deviceSeq = event.deviceSeq ?? 0
  if (deviceSeq <= last) {
    throw new Violation('order', `${event.id} of ${event.device} is confirmed after its later event ${last}`)
  }
  return {...history, seq: event.seq, lastOf: {...history.lastOf, [event.device]: deviceSeq}}
}

function fence(history: History, event: Event & {seq: number}): History {
  const opens = event.kind === 'session.opened' || event.kind === 'session.forked'
  if (opens) return {...history, holder: event.device, epoch: 1}
  if (event.kind === 'custody.granted') {
    const {holder, epoch} = event.data
    if (epoch !== history.epoch + 1) throw new Violation('epoch', `epoch ${epoch} follows ${history.epoch}`)
    return {...history, holder, epoch}
  }
  if (event.kind === 'custody.assumed') {
    const {epoch, restsOn} = event.data
    if (epoch !== history.epoch + 1) throw new Violation('epoch', `epoch ${epoch} follows ${history.epoch}`)
    if (history.worked > restsOn) {
      throw new Violation('interleaved', `work resting on ${restsOn} joins after work at ${history.worked}`)
    }
    return {...history, holder: event.device, epoch}
  }
  const foreign = event.epoch !== history.epoch || event.device !== history.holder
  if (event.epoch !== undefined && foreign) {
    throw new Violation('epoch', `${event.kind} under epoch ${event.epoch} while ${history.epoch} is current`)
  }
  return event.epoch === undefined ? history : {...history, worked: event.seq}
}

function observeRun(history: History, event: Event): History {
  switch (event.kind) {
    case 'run.started':
    case 'run.retried':
    case 'run.extended':
      return started(history, event.run)
    case 'run.completed':
    case 'run.failed':
    case 'run.alerted':
    case 'run.cancelled':
      return {...history, asleep: null, active: history.active.filter(run => run !== event.run)}
    case 'session.closed':
      return {...history, asleep: null, active: [], closed: true}
    case 'run.slept':
      return {...history, asleep: event.run ?? null}
    case 'run.woken':
      if (history.asleep !== event.run) throw new Violation('asleep', `${event.run} is woken and does not sleep`)
      return {...history, asleep: null}
    case 'run.migrated':
      return migrated(history, event)
    case 'step.prepared': {
      const [open] = history.open
      if (open) throw new Violation('results', `a view is prepared while ${open.id} is open`)
      if (history.asleep) throw new Violation('asleep', `${event.run} goes on while it sleeps`)
      return {...history, step: {id: event.step, replied: false}}
    }
    case 'model.replied': {
      if (history.step?.id !== event.step || history.step?.replied) {
        throw new Violation('results', `${event.id} answers a step that is not the one that waits`)
      }
      const {content} = event.data
      const calls = content.flatMap(part =>
        part.type === 'call' ? {id: part.call, tool: part.tool, run: event.run} : [],
      )
      const reused = calls.find(call => isOpen(history, call.id))
      if (reused) throw new Violation('results', `${reused.id} is opened twice`)
      return {...history, step: {id: event.step, replied: true}, open: [...history.open, ...calls]}
    }
    case 'tool.returned':
      if (!isOpen(history, event.data.call)) throw new Violation('results', `${event.data.call} returns again`)
      return {...history, open: history.open.filter(call => call.id !== event.data.call)}
    default:
      return history
  }
}

function isOpen({open}: History, id: CallId): boolean {
  return open.some(call => call.id === id)
}

/** A view of the former version is answered by nobody; a call goes on only if its input was checked. [PIN-3] */
function migrated(history: History, {run, data}: EventOf<'run.migrated'>): History {
  const had = new Map(tools.map(tool => [tool.name, tool.hash]))
  const changed = new Set(data.to.tools.flatMap(({name, hash}) => (had.get(name) === hash ? [] : name)))
  const unchecked = history.open.find(
    open => open.run === run && changed.has(open.tool) && !data.checked.some(({call}) => call === open.id),
  )
  if (unchecked) throw new Violation('pin', `${run} moves on with ${unchecked.id}, which nobody has checked`)
  return {...history, step: history.step?.replied ? history.step : null}
}

function started(history: History, run: RunId | undefined): History {
  if (history.closed) throw new Violation('closed', `${run} starts in a session that is closed`)
  if (!run || history.active.length > 0) throw new Violation('one run', `${run} starts beside ${history.active}`)
  return {...history, active: [run]}
}

function observeOperation(history: History, event: Event): History {
  if (event.kind === 'message.posted' || event.kind === 'run.cancelled' || event.kind === 'session.closed') {
    return {...history, operations: history.operations.map(one => (one.started ? one : {...one, corrected: true}))}
  }
  if (event.kind === 'operation.proposed') {
    const {operation: id} = event.data
    const fresh = {id, authority: 'none', granted: false, corrected: false, started: false} as const
    return {...history, operations: [...history.operations, fresh]}
  }
  if (!('operation' in event.data)) return history
  const id = event.data.operation
  if (!history.operations.some(one => one.id === id)) {
    throw new Violation('fork', `${event.kind} about ${id}, which this session never proposed`)
  }
  const operations = history.operations.map(one => (one.id === id ? moved(one, event) : one))
  return {...history, operations}
}

function moved(operation: OperationHistory, event: Event): OperationHistory {
  switch (event.kind) {
    case 'operation.authorised':
      return {...operation, authority: 'given'}
    case 'approval.granted':
      if (operation.granted) throw new Violation('approval', `${operation.id} is approved a second time`)
      if (operation.authority === 'gone' || operation.corrected) {
        throw new Violation('approval', `${operation.id} is approved after it was closed or corrected`)
      }
      return {...operation, authority: 'given', granted: true}
    case 'approval.rejected':
    case 'approval.expired':
    case 'operation.refused':
    case 'operation.voided':
      return {...operation, authority: 'gone'}
    case 'operation.started':
      return startedOperation(operation)
    default:
      return operation
  }
}

function startedOperation(operation: OperationHistory): OperationHistory {
  if (operation.started) throw new Violation('started once', `${operation.id} starts a second time`)
  if (operation.authority !== 'given') throw new Violation('authority', `${operation.id} starts without authority`)
  if (operation.corrected) throw new Violation('authority', `${operation.id} starts after a newer instruction`)
  return {...operation, started: true}
}
