import {readFileSync, readlinkSync} from 'node:fs'
import {hostname, platform} from 'node:os'

/** Identifies a process, even if its pid is reused later. */
export interface ProcessIdentity {
  pid: number
  /** Start time, in a unit of the system. Absent if the system does not provide it. */
  startedAt?: string
}

export function identityOf(pid: number): ProcessIdentity {
  const startedAt = startOf(pid)
  return startedAt === undefined ? {pid} : {pid, startedAt}
}

/**
 * Returns the scope in which a pid is valid: boot id and PID namespace, which differs by container. Without these, the
 * platform and host name.
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
    // EPERM: the process runs, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Boot id and field 22 (start time) of Linux's stat. The name in field 2 may contain spaces and parentheses. */
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
