/** True when both hold the same bytes; false when `b` is missing. */
export function sameBytes(a: Uint8Array, b: Uint8Array | null | undefined): boolean {
  return !!b && a.length === b.length && a.every((byte, at) => byte === b[at])
}
