import * as z from 'zod'

/**
 * Whether a text can be looked up by, and not only kept: no database has a column for a NUL, and half a surrogate pair
 * would be stored as something else. What is only kept may hold both, as JSON. [LOG-5]
 */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text)
}

/** A name or key from outside, of 1 to `most` characters. */
export function nameSchema(most: number) {
  return z.string().min(1).max(most).refine(isStorable, 'expected well-formed text without NUL')
}
