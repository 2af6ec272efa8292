/** What an error of Postgres says about the files. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export type DamageSign = 'certain' | 'suspected'

const signs: Record<string, DamageSign> = {
  // Data corrupted: a page whose checksum is wrong, a missing piece of a long value.
  XX001: 'certain',
  // Index corrupted.
  XX002: 'certain',
  // Internal error: mostly a catalogue or a row that does not fit together, but a fault of Postgres looks the same.
  XX000: 'suspected',
  // A file that is not there or cannot be read: of a table, or one that a statement of the application names.
  '58P01': 'suspected',
  '58030': 'suspected',
}

/** Null for every error that says nothing about the files. */
export function damageSignOf(error: unknown): DamageSign | null {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' ? (signs[code] ?? null) : null
}
