import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {OperationDefinition, OperationLimit} from '../define-operation.ts'
import type {LedgerRow, LockedSession} from '../storage/store.ts'

/** Why an operation may not start, `no_room` if it must wait for a free slot, or null. */
export type LimitFault = {over: string} | 'no_room' | null

/**
 * Returns what an operation counts towards its tool's limits, or null if the tool has no `amount`.
 *
 * @throws HoldfastError `misconfigured` if `amount` returns anything but zero or more
 */
export function amountOf(definition: OperationDefinition, input: Json): number | null {
  if (!definition.amount) return null
  const amount = definition.amount(input)
  if (Number.isFinite(amount) && amount >= 0) return amount
  throw new HoldfastError('misconfigured', `amount of "${definition.tool.name}": expected zero or more, got ${amount}`)
}

/** Checks the limit on a single operation, which does not depend on others. Runs before an approval is requested. */
export function singleFault(definition: OperationDefinition, amount: number | null): {over: string} | null {
  for (const limit of definition.limits ?? []) {
    if (limit.kind !== 'single' || amount === null || amount <= limit.amount) continue
    const words = wordsOf(definition)
    return over(definition, `one may be at most ${words(limit.amount)}, this is ${words(amount)}`)
  }
  return null
}

/** Checks all limits. Must be called under the session lock, in the transaction that records the start. */
export async function limitFault(
  session: LockedSession,
  definition: OperationDefinition,
  row: Pick<LedgerRow, 'tool' | 'requestedBy'>,
  amount: number | null,
  now: number,
): Promise<LimitFault> {
  const single = singleFault(definition, amount)
  if (single) return single
  let fault: LimitFault = null
  for (const limit of definition.limits ?? []) {
    if (limit.kind === 'single') continue
    const subject = limit.per === 'subject' ? {subject: row.requestedBy} : {}
    const since = limit.kind === 'concurrency' ? now : now - limit.inMs
    const used = await session.usage({tool: row.tool, since, ...subject})
    const found = faultOf(definition, limit, used, amount ?? 0)
    // An exceeded limit is final and takes precedence over a missing slot.
    if (found !== null && found !== 'no_room') return found
    fault ??= found
  }
  return fault
}

type Used = Awaited<ReturnType<LockedSession['usage']>>

function faultOf(
  definition: OperationDefinition,
  limit: Exclude<OperationLimit, {kind: 'single'}>,
  used: Used,
  amount: number,
): LimitFault {
  const whose = limit.per === 'subject' ? ' for one person' : ''
  const words = wordsOf(definition)
  switch (limit.kind) {
    case 'concurrency':
      return used.underWay >= limit.atOnce ? 'no_room' : null
    case 'rate':
      if (used.starts < limit.starts) return null
      return over(
        definition,
        `at most ${limit.starts} in ${duration(limit.inMs)}${whose}, ${used.starts} have been made`,
      )
    case 'amount':
      if (used.amount + amount <= limit.sum) return null
      return over(
        definition,
        `at most ${words(limit.sum)} in ${duration(limit.inMs)}${whose}; ` +
          `${words(used.amount)} of that is used and this is ${words(amount)}`,
      )
  }
}

function over({tool}: OperationDefinition, what: string): {over: string} {
  return {over: `Over the limit of "${tool.name}": ${what}. Nothing was done.`}
}

function wordsOf(definition: OperationDefinition): (amount: number) => string {
  return amount => definition.amountWords?.(amount) ?? String(amount)
}

function duration(ms: number): string {
  const units = [
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1000, 'second'],
  ] as const
  const [size, name] = units.find(([unit]) => ms >= unit && ms % unit === 0) ?? [1, 'millisecond']
  const count = ms / size
  return count === 1 ? `one ${name}` : `${count} ${name}s`
}
