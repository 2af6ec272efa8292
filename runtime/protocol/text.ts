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

/** Whether the text has a visible character. White space, control and zero-width characters are not visible. */
export function isVisible(text: string): boolean {
  return /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)
}

/** Replaces each lone surrogate by U+FFFD: UTF-8 cannot encode one, and providers refuse it. */
export function wellFormed(text: string): string {
  return loneSurrogate.test(text) ? text.replace(loneSurrogates, '\ufffd') : text
}

/** Returns at most `most` characters from the start of a text, without splitting a surrogate pair. */
export function textStart(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, Math.max(0, most)).replace(/[\ud800-\udbff]$/, '')
}

/** Returns at most `most` characters from the end of a text, without splitting a surrogate pair. */
export function textEnd(text: string, most: number): string {
  if (text.length <= most) return text
  return most <= 0 ? '' : text.slice(-most).replace(/^[\udc00-\udfff]/, '')
}

/** Returns a text of at most `most` characters unchanged, and otherwise its start and "…". */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${textStart(text, most)}…` : text
}
