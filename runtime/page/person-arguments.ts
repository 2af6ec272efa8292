import * as z from 'zod'
import {HoldfastError} from '../protocol/errors.ts'
import {kindOf} from '../protocol/expectation.ts'

/** How many unsent entries may be lost. Only `true` itself means any number. */
export const wipeOptions = z
  .strictObject({
    discardUnsent: z
      .union([z.boolean(), z.int().min(0)], {
        error: ({input}) => `expected true, false or a whole number from 0 on, got ${kindOf(input)}`,
      })
      .optional(),
  })
  .default({})

/**
 * Refuses options that a method does not have: `signOut({wipe: true})` would keep what its caller wants to be deleted.
 * Objects of a class pass, because a method may be an event handler and then receives the event.
 *
 * @throws HoldfastError `bad_input`
 */
export function refuseOptions(given: readonly unknown[], method: string, advice: string): void {
  const [first] = given
  if (first === undefined || !isPlain(first)) return
  throw new HoldfastError('bad_input', `${method}: expected no argument, got ${kindOf(first)}; ${advice}`, {
    details: {field: method},
  })
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Array.isArray(value)
}
