import {HoldfastError} from './errors.ts'
import {kindOf} from './expectation.ts'
import {isVisible} from './text.ts'

/**
 * Checks the text of a message.
 *
 * @throws HoldfastError `bad_input` when it is not a string or has no visible character
 */
export function messageText(text: unknown): string {
  if (typeof text === 'string' && isVisible(text)) return text
  const got = typeof text === 'string' ? 'none' : kindOf(text)
  throw new HoldfastError('bad_input', `text: expected a message with at least one visible character, got ${got}`, {
    details: {field: 'text'},
  })
}
