import {readFileSync, readlinkSync} from 'node:fs'
import {hostname, platform} from 'node:os'

/** A process, told apart from a later one that was given the same pid. */
export interface ProcessIdentity {
  pid: number
  /** When it started, in whatever unit the system offers; absent where it offers none. */
  startedAt?: string
}

export function identityOf(pid: number): ProcessIdentity {
  const startedAt = startOf(pid)
  return startedAt === undefined ? {pid} : {pid, startedAt}
}

/**
 * Where a pid of this process means the same: a boot of a machine and a PID namespace, which each container has of its
 * own. Without either, the name of the machine.
 */
export function placeOfProcesses(): string {
  try {
    return `${bootId()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return `${platform()}/${hostname()}`
  }
}

export function isRunning({pid, startedAt}: ProcessIdentity): boolean {
  if (!answersSignals(pid)) return false
  const now = startOf(pid)
  return startedAt === undefined || now === undefined || now === startedAt
}

function answersSignals(pid: number): boolean {
  if (pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Another user's process may not be signalled, and is running all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Field 22 of Linux's stat, with the boot it counts from; the name in field 2 may hold spaces and parentheses. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' ? 'ended' : `${bootId()}/${fields[18]}`
  } catch {
    return undefined
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}
