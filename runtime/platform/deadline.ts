import {HoldfastError} from '../protocol/errors.ts'

/** Deadlines of calls in milliseconds: a default and exceptions by method name. `Infinity` means no deadline. */
export interface Deadlines {
  deadlineMs?: number
  deadlines?: Readonly<Record<string, number>>
}

export const defaultDeadlineMs = 15_000

export function deadlineOf({deadlineMs = defaultDeadlineMs, deadlines = {}}: Deadlines, method: string): number {
  return (Object.hasOwn(deadlines, method) ? deadlines[method] : undefined) ?? deadlineMs
}

/**
 * Settles like `work`, or rejects after `ms` milliseconds. The work itself is not cancelled.
 *
 * @throws HoldfastError `deadline`
 */
export function withDeadline<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  if (ms === Number.POSITIVE_INFINITY) return work
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(deadlinePassed(ms, what)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function deadlinePassed(ms: number, what: string): HoldfastError {
  return new HoldfastError('deadline', `${what} gave no answer within ${ms} ms; the outcome is unknown.`, {
    details: {method: what, deadlineMs: ms},
  })
}

export function delay(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
