import {HoldfastError} from '../protocol/errors.ts'

/**
 * Checks that a name can be used as the name of a folder.
 *
 * @throws HoldfastError `misconfigured` naming the field
 */
export function requireDatabaseName(name: unknown): asserts name is string {
  if (typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) return
  const expected = 'a letter or digit, then up to 99 letters, digits, ".", "_" or "-"'
  throw new HoldfastError('misconfigured', `name: expected ${expected}, got ${JSON.stringify(name)}`, {
    details: {field: 'name', expected},
  })
}
