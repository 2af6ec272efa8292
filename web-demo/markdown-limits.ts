/**
 * What the Markdown parser is given at most. Its work and its recursion grow with nesting, not only with length: a line
 * of 1,000 list markers overflows the stack of a page.
 */
export const markdownLimits = {
  characters: 24_000,
  lines: 1_500,
  /** Quotes and lists inside each other. */
  depth: 24,
  /** `*` and `_` of one paragraph, each of which may open an emphasis inside the one before. */
  emphasis: 400,
  /** `[` of one paragraph, each of which may open a link inside the one before. */
  brackets: 400,
  /** Backticks of one paragraph. */
  backticks: 800,
  /** `<` and `&` of one paragraph. */
  markup: 300,
  /** Link definitions, each of which the parser compares with the others. */
  definitions: 200,
}

/** Whether a text is cheap enough to be parsed as Markdown; if not, show it as plain text. Takes linear time. */
export function isSafeMarkdown(text: string): boolean {
  if (text.length > markdownLimits.characters) return false
  const lines = text.split('\n')
  if (lines.length > markdownLimits.lines) return false
  return isShallow(lines) && isPlainEnough(lines)
}

/** Counts the quotes and list items that each line is nested in. Fenced code holds neither. */
function isShallow(lines: readonly string[]): boolean {
  let items: number[] = []
  let fence: string | null = null
  for (const line of lines) {
    const {quotes, rest, indent} = withoutQuotes(line)
    const marker = /^(`{3,}|~{3,})/.exec(rest)?.[0] ?? null
    if (fence !== null) {
      if (marker?.startsWith(fence)) fence = null
      continue
    }
    if (marker) fence = marker.slice(0, 3)
    items = rest === '' ? items : items.filter(column => column <= indent)
    const opened = listMarkers(rest, indent)
    if (quotes + items.length + opened.length > markdownLimits.depth) return false
    items.push(...opened)
  }
  return true
}

function withoutQuotes(line: string): {quotes: number; rest: string; indent: number} {
  let quotes = 0
  let at = 0
  let indent = 0
  for (; at < line.length; at++) {
    const character = line[at]
    if (character === '>') {
      quotes += 1
      indent = 0
    } else if (character === '\t') indent += 4
    else if (character === ' ') indent += 1
    else break
  }
  return {quotes, rest: line.slice(at), indent}
}

const markerPattern = /(?:[-+*]|\d{1,9}[.)]|>)(?:[ \t]+|$)|>/y

/** The columns at which the contents of the items begin that this line opens one in the other. */
function listMarkers(line: string, indent: number): number[] {
  const columns: number[] = []
  let at = 0
  while (at < line.length && columns.length <= markdownLimits.depth) {
    markerPattern.lastIndex = at
    const found = markerPattern.exec(line)
    if (!found) break
    at += found[0].length
    columns.push(indent + at)
  }
  return columns
}

/** Inline marks of one paragraph, which ends at a blank line. */
function isPlainEnough(lines: readonly string[]): boolean {
  let definitions = 0
  let marks = {emphasis: 0, brackets: 0, backticks: 0, markup: 0}
  for (const line of lines) {
    if (line.trim() === '') marks = {emphasis: 0, brackets: 0, backticks: 0, markup: 0}
    if (/^ {0,3}\[[^\]]*\]:/.test(line)) definitions += 1
    for (const character of line) {
      if (character === '*' || character === '_') marks.emphasis += 1
      else if (character === '[') marks.brackets += 1
      else if (character === '`') marks.backticks += 1
      else if (character === '<' || character === '&') marks.markup += 1
    }
    if (definitions > markdownLimits.definitions || exceeds(marks)) return false
  }
  return true
}

function exceeds(marks: Record<'emphasis' | 'brackets' | 'backticks' | 'markup', number>): boolean {
  return (Object.keys(marks) as (keyof typeof marks)[]).some(name => marks[name] > markdownLimits[name])
}
