/**
 * Estimates the tokens of a value's JSON by its scripts: rough, deterministic and cheap. The minimum is one token for 4
 * characters; denser scripts count more. Usage that the provider reports calibrates the estimate (`calibration.ts`).
 */
export function estimateTokens(value: unknown): number {
  const text = JSON.stringify(value) ?? ''
  return Math.ceil(Math.max(text.length / 4, tokensByScript(text)))
}

function tokensByScript(text: string): number {
  let tokens = 0
  let i = 0
  while (i < text.length) {
    const end = wordEnd(text, i)
    if (end > i) {
      tokens += wordTokens(text, i, end)
      i = end
      continue
    }
    const code = text.codePointAt(i) ?? 0
    tokens += weightOf(code)
    i += code > 0xffff ? 2 : 1
  }
  return tokens
}

/** Returns the end of the ASCII word (letters and digits) that starts at `from`. */
function wordEnd(text: string, from: number): number {
  let i = from
  while (i < text.length && isWord(text.charCodeAt(i))) i++
  return i
}

function isWord(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || isDigit(code)
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/** From this length on, a word with digits is an id, a hash or encoded bytes. */
const encodedLength = 24

/** A word has one token for 4.5 letters, a number one for 2 digits, encoded bytes one for 2 characters. */
function wordTokens(text: string, from: number, end: number): number {
  const length = end - from
  let digits = 0
  for (let i = from; i < end; i++) if (isDigit(text.charCodeAt(i))) digits++
  if (length >= encodedLength && digits > 0) return length / 2
  const letters = length - digits
  return (letters === 0 ? 0 : Math.max(0.8, letters / 4.5)) + digits / 2
}

const space = 0x20

function weightOf(code: number): number {
  if (code < 0x80) return code === space ? 0.1 : 0.4
  if (code < 0x250) return 0.7
  if (code < 0x370) return 1
  // Greek, Cyrillic
  if (code < 0x530) return code < 0x400 ? 0.7 : 0.45
  // Armenian, Hebrew, Arabic and its neighbours
  if (code < 0x900) return 0.8
  // Indic scripts, Thai, Lao, Tibetan, Burmese, Ethiopic, Khmer and others
  if (code < 0x1e00) return isHangulJamo(code) ? 1 : 0.9
  if (code < 0x2000) return 0.8
  // Punctuation, symbols, Han, kana, Hangul and full-width forms
  if (code <= 0xffff) return 1
  // Emoji and rare characters are several tokens each.
  return 2.5
}

function isHangulJamo(code: number): boolean {
  return code >= 0x1100 && code < 0x1200
}
