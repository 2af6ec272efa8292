/**
 * Text in which nothing is hidden, for wherever a person decides by what they see: characters that have no picture,
 * turn the direction of others, or pile up on one letter are written as their code points.
 */
export function exactText(text: string): string {
  return replaceHidden(text, (code, times) => `⟨U+${hex(code)}${times > 1 ? ` ×${times}` : ''}⟩`)
}

/** JSON as exact as what it was made of: hidden characters are escapes, so it still parses to the same value. */
export function exactJson(json: string): string {
  return replaceHidden(json, (code, times) => escapeOf(code).repeat(times))
}

/** The first three marks on a letter are writing; what follows is painted over other lines. */
const pattern =
  /(?<=\p{M}{3})\p{M}|[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu
const emoji = /\p{Extended_Pictographic}(?:\ufe0f|\p{EMod})?(?:\u200d\p{Extended_Pictographic}(?:\ufe0f|\p{EMod})?)*/gu

type Hidden = {from: number; to: number; code: number; times: number}

function replaceHidden(text: string, written: (code: number, times: number) => string): string {
  let result = ''
  let at = 0
  for (const {from, to, code, times} of hiddenIn(text)) {
    result += text.slice(at, from) + written(code, times)
    at = to
  }
  return result + text.slice(at)
}

/** Runs of one hidden character, in order. The joiners inside of an emoji are part of its picture. */
function hiddenIn(text: string): Hidden[] {
  const pictures = [...text.matchAll(emoji)].map(({index, 0: {length}}) => ({from: index, to: index + length}))
  const runs: Hidden[] = []
  let next = 0
  for (const {index, 0: found} of text.matchAll(pattern)) {
    while (next < pictures.length && pictures[next]!.to <= index) next += 1
    const inPicture = next < pictures.length && pictures[next]!.from <= index
    if (inPicture || found === '\n' || found === '\t') continue
    const code = found.codePointAt(0) ?? 0
    const last = runs.at(-1)
    if (last?.code === code && last.to === index) {
      last.to += found.length
      last.times += 1
    } else runs.push({from: index, to: index + found.length, code, times: 1})
  }
  return runs
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0')
}

function escapeOf(code: number): string {
  return [...String.fromCodePoint(code)]
    .flatMap(character => Array.from({length: character.length}, (_, i) => character.charCodeAt(i)))
    .map(unit => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')
}
