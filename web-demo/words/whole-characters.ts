/** Returns at most `most` characters from the start of a text, never half of a surrogate pair. */
export function wholeCharacters(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '')
}
