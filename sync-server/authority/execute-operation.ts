import {type Json, jsonBytes, jsonSchema} from '../../runtime/protocol/json.ts'
import {redactSecrets} from '../../runtime/protocol/redact-secrets.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {type ChangedFact, OperationFailed} from '../define-operation.ts'
import {type BoundFacts, bindFacts} from '../facts.ts'
import type {LedgerRow} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {withDeadline} from './deadline.ts'
import {deadlineOf, type OperationContext, requestOf, say} from './operation-context.ts'
import {clip, type Prepared, prepareOperation} from './prepare-operation.ts'

/**
 * authorised → started → executed, failed or uncertain. The started event commits before the call and nothing but this
 * function writes it, so a second delivery, a crash or a correction that came first can never lead to a second call.
 * [OP-3, OP-4, OP-5]
 */
export async function executeOperation(context: OperationContext, row: LedgerRow): Promise<void> {
  const {operation} = row
  const prepared = await prepareOperation(context.operations, row)
  if ('code' in prepared) {
    await say(context, row, {kind: 'operation.refused', data: {operation, ...prepared}})
    return
  }
  const stale = prepared.digest === row.digest ? await staleness(context, row, prepared) : contractMoved
  if (stale !== null) {
    await say(context, row, {kind: 'operation.refused', data: {operation, code: 'stale', reason: clip(stale)}})
    return
  }
  const started = await say(context, row, {kind: 'operation.started', data: {operation, digest: prepared.digest}})
  if (started) await say(context, row, await call(row, prepared))
}

const contractMoved = 'What would run now is not what was authorised: the contract of the tool has changed.'

async function staleness(context: OperationContext, row: LedgerRow, prepared: Prepared): Promise<string | null> {
  const {definition, input} = prepared
  const facts = bindFacts(context.facts, {tenant: row.tenant, subject: row.requestedBy})
  const answer = await withDeadline(`recheck of "${row.tool}"`, deadlineOf(definition), async () => {
    const changed = await changedFacts(facts, row)
    return definition.recheck({...requestOf(row, input), basis: row.basis, changed, facts})
  })
  return 'stale' in answer ? answer.stale : null
}

async function changedFacts(facts: BoundFacts, {basis}: LedgerRow): Promise<ChangedFact[]> {
  const read = Object.entries(basis).map(async ([key, was]) => ({key, was, now: await facts.read(key)}))
  return (await Promise.all(read)).filter(({was, now}) => now?.version !== was)
}

async function call(row: LedgerRow, {definition, input}: Prepared): Promise<ServiceDraft> {
  const {operation} = row
  try {
    const receipt = await withDeadline(`execute of "${row.tool}"`, deadlineOf(definition), signal =>
      definition.execute({...requestOf(row, input), signal}),
    )
    return {kind: 'operation.executed', data: {operation, receipt: storable(receipt)}}
  } catch (error) {
    const reason = clip(error instanceof Error ? error.message : String(error))
    if (error instanceof OperationFailed) return {kind: 'operation.failed', data: {operation, reason}}
    return {kind: 'operation.uncertain', data: {operation, reason}}
  }
}

/** The effect has happened, so its receipt is recorded whatever it looks like; what cannot be kept is said. [VIEW-5] */
export function storable(receipt: unknown): Json {
  const json = jsonSchema.safeParse(receipt ?? null)
  if (!json.success) return {note: 'The receipt was not JSON and is not kept.'}
  if (jsonBytes(json.data) > limits.valueBytes) return {note: 'The receipt was over 64 KiB and is not kept.'}
  return redactSecrets(json.data)
}
