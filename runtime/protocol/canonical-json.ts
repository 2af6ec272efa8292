/**
 * The one canonical text of a JSON value, for every hash and digest on device and server: RFC 8785 with sorted keys and
 * no white space. RFC 8785 has no text for a lone surrogate; here it is written as its escape, as `JSON.stringify` does,
 * because an event may hold one and must still have a hash. [LOG-5]
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const object = value as Record<string, unknown>
  const members = Object.keys(object)
    .sort()
    .flatMap(key => (object[key] === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(object[key])}`]))
  return `{${members.join(',')}}`
}
