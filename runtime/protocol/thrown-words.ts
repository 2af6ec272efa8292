const undescribed = 'It failed without saying why.'

/**
 * The words of whatever was thrown: an Error, a text, the JSON of an answer, or something that cannot even be turned
 * into text. Never throws itself, because it runs where failures are recorded.
 *
 * @example thrownWords({error: {message: 'Overloaded'}}) // 'Overloaded'
 */
export function thrownWords(thrown: unknown): string {
  try {
    return wordsIn(thrown, 0) || undescribed
  } catch {
    return undescribed
  }
}

function wordsIn(thrown: unknown, depth: number): string {
  if (thrown === undefined || thrown === null) return ''
  if (typeof thrown !== 'object' && typeof thrown !== 'function') return String(thrown)
  const {message, error} = thrown as {message?: unknown; error?: unknown}
  if (typeof message === 'string') return message || ('name' in thrown ? String(thrown.name) : '')
  return depth < 4 ? wordsIn(error, depth + 1) : ''
}
