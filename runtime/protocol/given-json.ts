/**
 * Converts a value from application code the way JSON text would: a member that is `undefined` is dropped, a hole in an
 * array becomes null, and −0 becomes 0. Everything else passes unchanged; the JSON check accepts or refuses it by its
 * path. Returns the same value when there is nothing to change.
 */
export function givenJson(value: unknown, depth = 0): unknown {
  if (value === undefined) return null
  if (Object.is(value, -0)) return 0
  // A circular value stops here; the JSON check refuses it for its depth.
  if (typeof value !== 'object' || value === null || depth > deepest) return value
  if (Array.isArray(value))
    return changed(
      value,
      Array.from(value, item => givenJson(item, depth + 1)),
    )
  if (![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value
  const entries = Object.entries(value)
  const given = entries.filter(([, inner]) => inner !== undefined)
  const next = given.map(([key, inner]) => [key, givenJson(inner, depth + 1)] as const)
  const same = given.length === entries.length && next.every(([, inner], i) => Object.is(inner, given[i]?.[1]))
  return same || Object.hasOwn(value, '__proto__') ? value : Object.fromEntries(next)
}

const deepest = 200

function changed(before: readonly unknown[], after: unknown[]): unknown {
  return after.every((item, i) => Object.is(item, before[i]) && i in before) ? before : after
}
