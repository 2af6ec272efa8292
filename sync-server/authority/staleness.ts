import type {ChangedFact} from '../define-operation.ts'
import {type BoundFacts, bindFacts} from '../facts.ts'
import type {LedgerRow} from '../storage/store.ts'
import {withDeadline} from './deadline.ts'
import {deadlineOf, type OperationContext, requestOf} from './operation-context.ts'
import type {Prepared} from './prepare-operation.ts'

/** Calls the tool's `recheck` with the changed facts. Returns why the operation is stale, or null. [OP-5] */
export async function staleness(
  context: Pick<OperationContext, 'facts'>,
  row: LedgerRow,
  {definition, input}: Prepared,
): Promise<string | null> {
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
