import {OperationFailed} from '../define-operation.ts'
import type {LedgerRow} from '../storage/store.ts'
import {amountOf, limitFault} from './check-limits.ts'
import {withDeadline} from './deadline.ts'
import {deadlineOf, type OperationContext, type OperationDraft, requestOf, say} from './operation-context.ts'
import type {Led} from './operations.ts'
import {clip, type Prepared, prepareOperation} from './prepare-operation.ts'
import {storableReceipt} from './receipt.ts'
import {staleness} from './staleness.ts'

/**
 * Moves an operation from authorised to started, then to executed, failed or uncertain. The started event commits
 * before the call, and only this function writes it. A second delivery, a crash or an earlier correction therefore
 * never causes a second call. [OP-3, OP-4, OP-5]
 */
export async function executeOperation(context: OperationContext, row: LedgerRow): Promise<Led> {
  const {operation} = row
  const prepared = await prepareOperation(context.operations, row)
  if ('code' in prepared) {
    return (await say(context, row, {kind: 'operation.refused', data: {operation, ...prepared}})) && 'refused'
  }
  const stale = prepared.digest === row.digest ? await staleness(context, row, prepared) : contractMoved
  if (stale !== null) {
    const data = {operation, code: 'stale' as const, reason: clip(stale)}
    return (await say(context, row, {kind: 'operation.refused', data})) && 'refused'
  }
  const start = await begin(context, row, prepared)
  if (start !== 'started') return start
  const outcome = await call(row, prepared)
  return (await say(context, row, outcome)) && statusAfter[outcome.kind]
}

const contractMoved = 'What would run now is not what was authorised: the contract of the tool has changed.'

const statusAfter = {
  'operation.executed': 'executed',
  'operation.failed': 'failed',
  'operation.uncertain': 'uncertain',
} as const

/** Checks the limits and records the start, or the refusal, in one transaction. */
async function begin(context: OperationContext, row: LedgerRow, prepared: Prepared): Promise<Led> {
  const {operation} = row
  const {definition, digest, input} = prepared
  const amount = amountOf(definition, input)
  let room = true
  const said = await say(context, row, async session => {
    const now = context.environment.now()
    const fault = await limitFault(session, definition, row, amount, now)
    room = fault !== 'no_room'
    if (fault === 'no_room') return null
    if (fault) return {kind: 'operation.refused', data: {operation, code: 'over_limit', reason: clip(fault.over)}}
    const {verdictRole} = definition
    const started = {operation, digest, answersBy: now + deadlineOf(definition)}
    return {
      kind: 'operation.started',
      data: {...started, ...(amount !== null && {amount}), ...(verdictRole !== undefined && {verdictRole})},
    }
  })
  if (!room) return 'no_room'
  if (!said) return null
  return said.kind === 'operation.started' ? 'started' : 'refused'
}

type Outcome = Extract<OperationDraft, {kind: keyof typeof statusAfter}>

async function call(row: LedgerRow, {definition, input}: Prepared): Promise<Outcome> {
  const {operation} = row
  try {
    const receipt = await withDeadline(`execute of "${row.tool}"`, deadlineOf(definition), signal =>
      definition.execute({...requestOf(row, input), signal}),
    )
    return {kind: 'operation.executed', data: {operation, receipt: storableReceipt(receipt)}}
  } catch (error) {
    const reason = clip(error instanceof Error ? error.message : String(error))
    if (error instanceof OperationFailed) return {kind: 'operation.failed', data: {operation, reason}}
    return {kind: 'operation.uncertain', data: {operation, reason}}
  }
}
