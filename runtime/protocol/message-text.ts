import {HoldfastError} from './errors.ts'
import {isVisible} from './text.ts'

/**
 * The text of a message as a caller gave it.
 *
 * @throws HoldfastError `bad_input` for what is not a string, or has nothing that a person would see
 */
export function messageText(text: unknown): string {
  if (typeof text === 'string' && isVisible(text)) return text
  const got = typeof text === 'string' ? 'none' : text === null ? 'null' : typeof text
  throw new HoldfastError('bad_input', `text: expected a message with at least one visible character, got ${got}`, {
    details: {field: 'text'},
  })
}
