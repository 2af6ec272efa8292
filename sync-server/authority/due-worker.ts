import type {DueItem, DueName, DueRef, DueWork} from '../storage/due-work.ts'
import type {FaultPlace} from './authority.ts'

/** `null` when nothing is left to do; else the time (ms) to look again, with the attempts that count from then on. */
export type DueHandler = (item: DueItem) => Promise<number | {at: number; attempts: number} | null>

export type DueWorker = {
  /** Does this piece now if nobody has it, in this process or another; safe to call at any time, any number of times. */
  nudge(ref: DueRef): void
  /** Takes whatever is due, as much at a time as there is room for, and says how many pieces it took. */
  round(): Promise<number>
  /** Resolves when this process has nothing under way. */
  idle(): Promise<void>
  /** Takes no more work and waits for what is under way. */
  close(): Promise<void>
}

type Parts = {
  due: DueWork
  handlers: Record<DueName, DueHandler>
  now(): number
  /** Longer than the longest piece takes: another process may take it over after that. */
  leaseMs: number
  onFault(error: unknown, about?: FaultPlace): void
}

const width = 32

/**
 * Works off the table of due work. There is no queue in memory: what finds no room stays in the table, so a process that
 * dies loses nothing, and its leases run out.
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

/** A key begins with the id of what is due; a webhook's goes on with an address, and that may hold a secret. [VIEW-5] */
function placeOf({tenant, name, key, attempts}: DueItem): FaultPlace {
  const about = {'holdfast.due': name, 'holdfast.due_key': key.split(' ')[0] ?? '', 'holdfast.due_attempts': attempts}
  return {event: 'due.failed', fields: {'holdfast.tenant': tenant, ...about}}
}

/** Doubles from two seconds up to ten minutes. */
export function backoffMs(attempts: number): number {
  return Math.min(1000 * 2 ** attempts, 600_000)
}
