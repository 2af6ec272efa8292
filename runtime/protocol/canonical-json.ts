/**
 * Returns the canonical text of a JSON value. Every hash and digest on device and server uses it. The format is RFC
 * 8785: sorted keys, no white space. A lone surrogate, which RFC 8785 cannot encode, is written as its escape (like
 * `JSON.stringify`), because an event may contain one and still needs a hash. [LOG-5]
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
