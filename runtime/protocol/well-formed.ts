import {wellFormed} from './text.ts'

/**
 * Makes every string and key of a JSON value well-formed, for readers that require it, such as model providers. Returns
 * the same object when nothing changes, so that a change can be recorded.
 */
export function wellFormedJson<T>(value: T): T {
  return formed(value) as T
}

function formed(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(formed)
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const entries = Object.entries(value)
  const changed = entries.map(([key, inner]) => [wellFormed(key), formed(inner)] as const)
  const same = changed.every(([key, inner], i) => key === entries[i]?.[0] && inner === entries[i]?.[1])
  return same ? value : Object.fromEntries(changed)
}
