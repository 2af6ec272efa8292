/**
 * PGlite tells a gzipped tar by its type, but a server that sends it with a content encoding has the browser unpack
 * it first: the first two bytes say which one arrived.
 */
export function asTarball(bytes: Uint8Array<ArrayBuffer>): Blob {
  const gzipped = bytes[0] === 0x1f && bytes[1] === 0x8b
  return new Blob([bytes], {type: gzipped ? 'application/gzip' : 'application/x-tar'})
}
