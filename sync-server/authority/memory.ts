import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {MemoryId} from '../../runtime/protocol/ids.ts'
import {
  decideMemory,
  evolveMemory,
  isRecord,
  isValidAt,
  type MemoryAct,
  type MemoryChange,
  type MemoryItem,
} from '../../runtime/protocol/memory.ts'
import {redactText} from '../../runtime/protocol/redact-secrets.ts'
import {refusalError} from '../../runtime/protocol/refusal.ts'
import type {Owner} from '../principal.ts'
import type {MemoryRef} from '../storage/memory-store.ts'
import {enterForce, type MemoryContext, memoryMoved, record} from './memory-context.ts'
import {twinsOf} from './same-memory.ts'

/**
 * Applies a person's change to one of their own items: accept, correct or forget. [MEM-2, MEM-3]
 *
 * @throws HoldfastError `not_found` for an unknown id and for an item of another subject; `refused`; `conflict` for a
 * correction of text that has changed
 */
export async function changeMemory(
  context: MemoryContext,
  owner: Owner,
  id: MemoryId,
  asked: MemoryChange,
): Promise<MemoryItem> {
  const change = asked.do === 'correct' ? {...asked, text: redactText(asked.text)} : asked
  const act: MemoryAct = {at: context.environment.now(), by: {type: 'person', subject: owner.subject}}
  const {item, moved} = await context.store.memory.locked(owner, async memory => {
    const before = (await memory.byIds([id])).get(id)
    if (!before) throw new HoldfastError('not_found', 'No such memory.')
    const verdict = decideMemory(before, change)
    if (verdict.refusal) throw refusalError(verdict.refusal)
    if (verdict.repeat) return {item: before, moved: false}
    if (change.do === 'accept' && isRecord(before)) {
      const changed = await enterForce(memory, owner, {item: before, open: await memory.open(), act})
      return {item: changed.at(-1) ?? before, moved: true}
    }
    const after = evolveMemory(before, change, act)
    const twins = twinsOf(before, await memory.open())
    await record(memory, owner, after, act)
    for (const twin of twins) await record(memory, owner, evolveMemory(twin, {do: 'forget'}, act), act)
    return {item: after, moved: true}
  })
  if (moved) memoryMoved(context, owner)
  return item
}

/** Maximum number of items per round; the next round continues. */
const perRound = 100

/** Marks items as expired. Recall does not depend on it: it checks the validity itself. [MEM-3] */
export async function expireMemory(context: MemoryContext): Promise<number> {
  const now = context.environment.now()
  let expired = 0
  for (const ref of await context.store.memory.overdue(now, perRound)) {
    if (await byClock(context, ref, {do: 'expire'}, item => !isValidAt(item, now))) expired += 1
  }
  return expired
}

/** Forgets items unchanged since `before` (ms since 1970). Returns their number. [RET-1] */
export async function forgetUntouched(context: MemoryContext, before: number): Promise<number> {
  let forgotten = 0
  for (const ref of await context.store.memory.untouched(before, perRound)) {
    if (await byClock(context, ref, {do: 'forget'}, item => item.updatedAt < before)) forgotten += 1
  }
  return forgotten
}

/** Changes an item by the clock. The item was found without a lock, so `due` checks it again under the lock. */
async function byClock(
  context: MemoryContext,
  {id, ...owner}: MemoryRef,
  command: {do: 'expire' | 'forget'},
  due: (item: MemoryItem) => boolean,
): Promise<boolean> {
  const act: MemoryAct = {at: context.environment.now(), by: {type: 'clock'}}
  const moved = await context.store.memory.locked(owner, async memory => {
    const item = (await memory.byIds([id])).get(id)
    const verdict = item && decideMemory(item, command)
    if (!item || !verdict || verdict.refusal || verdict.repeat || !due(item)) return false
    await record(memory, owner, evolveMemory(item, command, act), act)
    return true
  })
  if (moved) memoryMoved(context, owner)
  return moved
}
