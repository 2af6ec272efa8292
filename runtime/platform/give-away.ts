const given = new WeakSet<Uint8Array>()

/** Marks bytes that their owner no longer uses. A connection then transfers them instead of copying them. */
export function giveAway(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  given.add(bytes)
  return bytes
}

export function isGivenAway(value: unknown): value is Uint8Array<ArrayBuffer> {
  return value instanceof Uint8Array && given.has(value)
}
