import * as z from 'zod'
import {parse} from '../protocol/errors.ts'

/**
 * Checks the listener that a caller passes to `method`. Otherwise nothing would be reported before the first change, and
 * then at every change.
 *
 * @throws HoldfastError `bad_input`
 */
export function listenerOf<Value>(listener: (value: Value) => void, method: string): (value: Value) => void {
  return parse(listenerSchema<Value>(), listener, method)
}

function listenerSchema<Value>() {
  return z.custom<(value: Value) => void>(value => typeof value === 'function', 'expected a function')
}
