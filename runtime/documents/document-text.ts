import {HoldfastError} from '../protocol/errors.ts'
import {wellFormed} from '../protocol/text.ts'
import {limits} from '../protocol/version.ts'

/**
 * Returns the text as a document stores it: without lone surrogates, which other replicas would read differently. [LOG-5]
 *
 * @throws HoldfastError `too_large` for more than 100,000 characters
 */
export function documentText(document: string, text: string): string {
  const limit = limits.documentCharacters
  if (text.length <= limit) return wellFormed(text)
  throw new HoldfastError(
    'too_large',
    `document "${document}": expected at most ${limit} characters, got ${text.length}; the text was not stored`,
    {details: {field: 'text', document, characters: text.length, limit}},
  )
}
