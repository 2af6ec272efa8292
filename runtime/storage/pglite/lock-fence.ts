import {type BigIntStats, fstatSync, statSync} from 'node:fs'
import {HoldfastError} from '../../protocol/errors.ts'

/** Throws if another process holds the lock. Costs one system call. */
export type Fence = () => void

/** Time in ms after which an unreadable lock counts as lost. Half of the time that a contender waits. */
const longestDoubt = 5000

/** Compares the inode of the lock file with that of the open descriptor. An open inode is never reused. */
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
