import {type BigIntStats, fstatSync, statSync} from 'node:fs'
import {HoldfastError} from '../../protocol/errors.ts'

/** Throws when the lock belongs to another process by now. Costs one system call. */
export type Fence = () => void

/** A lock that cannot be looked at for this long (ms) counts as lost: half of what a contender waits. */
const longestDoubt = 5000

/** Compares the file that has the lock's name with the one that this process holds open, whose number stays taken. */
export function lockFence(lock: string, file: number): Fence {
  const own = fstatSync(file, {bigint: true})
  let seenAt = performance.now()
  return () => {
    const found = look(lock)
    if (found === 'unknown') {
      if (performance.now() - seenAt < longestDoubt) return
    } else if (found && found.ino === own.ino && found.dev === own.dev) {
      seenAt = performance.now()
      return
    }
    throw new HoldfastError('database_locked', 'Another process has taken the database over.')
  }
}

function look(lock: string): BigIntStats | undefined | 'unknown' {
  try {
    return statSync(lock, {bigint: true, throwIfNoEntry: false})
  } catch {
    return 'unknown'
  }
}
