import * as z from 'zod'

const loneSurrogate = /\p{Surrogate}/u
const loneSurrogates = /\p{Surrogate}/gu

/**
 * Whether a text can be looked up by, and not only kept: no database has a column for a NUL, and half a surrogate pair
 * would be stored as something else. What is only kept may hold both, as JSON. [LOG-5]
 */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !loneSurrogate.test(text)
}

/** A name or key from outside, of 1 to `most` characters. */
export function nameSchema(most: number) {
  return z.string().min(1).max(most).refine(isStorable, 'expected well-formed text without NUL')
}

/** Whether a person would see anything of the text: white space, controls and zero-width characters alone are nothing. */
export function isVisible(text: string): boolean {
  return /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)
}

/** The text with U+FFFD in place of each lone surrogate: UTF-8 has no bytes for one, and providers refuse it. */
export function wellFormed(text: string): string {
  return loneSurrogate.test(text) ? text.replace(loneSurrogates, '\ufffd') : text
}

/** At most so many characters from the beginning of a text, never through the middle of a surrogate pair. */
export function textStart(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, Math.max(0, most)).replace(/[\ud800-\udbff]$/, '')
}
