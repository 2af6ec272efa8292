import type {DueItem, DueName, DueRef, DueWork} from '../storage/due-work.ts'
import type {FaultPlace} from './authority.ts'

/**
 * Handles one item. Returns null when it is done, or the time (ms) of the next attempt, optionally with a new attempt
 * count.
 */
export type DueHandler = (item: DueItem) => Promise<number | {at: number; attempts: number} | null>

export type DueWorker = {
  /** Claims and performs this item now, unless a process holds it. Safe to call at any time and repeatedly. */
  nudge(ref: DueRef): void
  /** Claims as many due items as there are free slots and returns their number. */
  round(): Promise<number>
  /** Resolves when this process performs no item. */
  idle(): Promise<void>
  /** Stops claiming and waits for the items in progress. */
  close(): Promise<void>
}

type Parts = {
  due: DueWork
  handlers: Record<DueName, DueHandler>
  now(): number
  /** Must exceed the longest duration of an item: after it another process may take the item over. */
  leaseMs: number
  onFault(error: unknown, about?: FaultPlace): void
}

const width = 32

/**
 * Performs due work from the table. There is no queue in memory: items without a free slot stay in the table. After a
 * crash nothing is lost, and the leases expire.
 */
export function dueWorker({due, handlers, now, leaseMs, onFault}: Parts): DueWorker {
  let active = 0
  let more = false
  let closed = false
  let onIdle: (() => void)[] = []

  const work = async (claiming: Promise<DueItem | null>) => {
    active++
    try {
      const item = await claiming
      if (item) await perform(item)
    } catch (error) {
      onFault(error, {event: 'due.failed'})
    } finally {
      active--
      if (more && !closed) void round()
      if (active === 0) rest()
    }
  }
  const perform = async (item: DueItem) => {
    let again: Awaited<ReturnType<DueHandler>>
    try {
      again = await handlers[item.name](item)
    } catch (error) {
      again = now() + backoffMs(item.attempts)
      onFault(error, placeOf(item))
    }
    if (again === null) await due.finish(item)
    else if (typeof again === 'number') await due.postpone(item, again)
    else await due.postpone({...item, attempts: again.attempts}, again.at)
  }
  const round = async () => {
    more = false
    const room = width - active
    if (closed || room <= 0) return 0
    active++
    try {
      const items = await due.claim({now: now(), leaseMs, limit: room})
      more ||= items.length === room
      for (const item of items) void work(Promise.resolve(item))
      return items.length
    } catch (error) {
      onFault(error, {event: 'due.failed'})
      return 0
    } finally {
      active--
      if (active === 0) rest()
    }
  }
  const rest = () => {
    for (const resolve of onIdle) resolve()
    onIdle = []
  }
  const idle = () =>
    active === 0
      ? Promise.resolve()
      : new Promise<void>(resolve => {
          onIdle.push(resolve)
        })

  return {
    nudge: ref => {
      if (closed) return
      if (active < width) void work(due.claimOne(ref, {now: now(), leaseMs}))
      else more = true
    },
    round,
    idle,
    close: () => {
      closed = true
      return idle()
    },
  }
}

/**
 * A key starts with the id of what is due. The key of a webhook continues with its URL, which may contain a secret.
 * [VIEW-5]
 */
function placeOf({tenant, name, key, attempts}: DueItem): FaultPlace {
  const about = {'holdfast.due': name, 'holdfast.due_key': key.split(' ')[0] ?? '', 'holdfast.due_attempts': attempts}
  return {event: 'due.failed', fields: {'holdfast.tenant': tenant, ...about}}
}

/** Exponential back-off: doubles from two seconds to ten minutes. */
export function backoffMs(attempts: number): number {
  return Math.min(1000 * 2 ** attempts, 600_000)
}
