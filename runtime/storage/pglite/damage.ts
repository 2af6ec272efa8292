/** How strongly a Postgres error indicates damaged files. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export type DamageSign = 'certain' | 'suspected'

const signs: Record<string, DamageSign> = {
  // Data corrupted: a page with a wrong checksum, or a missing chunk of a TOAST value.
  XX001: 'certain',
  // Index corrupted.
  XX002: 'certain',
  // Internal error: usually an inconsistent catalog or row, but a bug in Postgres has the same code.
  XX000: 'suspected',
  // Missing or unreadable file: either of a table, or one that a statement of the application names.
  '58P01': 'suspected',
  '58030': 'suspected',
}

/** Returns null for an error that does not indicate damage. */
export function damageSignOf(error: unknown): DamageSign | null {
  const code: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined
  return typeof code === 'string' ? (signs[code] ?? null) : null
}
