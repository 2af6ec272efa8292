const table = Uint32Array.from({length: 256}, (_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1
  return rest
})

/** Returns the CRC-32 (ISO 3309, as in gzip). It detects torn or overwritten bytes. It does not protect against tampering. */
export function checksumOf(bytes: Uint8Array): number {
  let rest = 0xffffffff
  for (const byte of bytes) rest = (table[(rest ^ byte) & 0xff] ?? 0) ^ (rest >>> 8)
  return (rest ^ 0xffffffff) >>> 0
}

/** Returns the CRC-32 as eight hexadecimal digits. */
export function checksum(bytes: Uint8Array): string {
  return checksumOf(bytes).toString(16).padStart(8, '0')
}
