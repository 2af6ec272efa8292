import {shortened} from '../protocol/text.ts'
import {limits} from '../protocol/version.ts'

/** First words of a message, given the data of its event, as lists of sessions show them. */
export function messageExcerpt(data: unknown): string {
  return shortened(String((data as {text?: unknown}).text), limits.excerptCharacters)
}
