export type Share = 'full' | 'half'
export type Amount = {cents: number} | {share: Share}

const number = String.raw`(\d{1,6}(?:[.,]\d{3})*(?:[.,]\d{1,2})?)`
const unit = String.raw`(?:€|eur(?:os?)?\b)`
const written = new RegExp(
  `(?:${unit}\\s*${number}(?![\\d]))|(?:(?<![\\p{L}\\d])${number}\\s*(${unit}|cents?\\b))`,
  'iu',
)

/** The first amount that a sentence names: "20 €", "€ 12,50", "half of it", "everything". */
export function amountIn(text: string): Amount | null {
  const match = written.exec(text)
  const digits = match?.[1] ?? match?.[2]
  if (digits !== undefined) {
    const inCents = /^cents?$/i.test(match?.[3] ?? '')
    return {cents: inCents ? Number.parseInt(digits, 10) : centsOf(digits)}
  }
  if (/\bhalf\b|\b50 ?%/i.test(text)) return {share: 'half'}
  if (
    /\b(?:all of (?:it|them)|everything|full(?:y| amount)?|the (?:whole|rest|remaining|remainder)|in full|what(?:'s| is) left|100 ?%)/i.test(
      text,
    )
  ) {
    return {share: 'full'}
  }
  return null
}

/** "1.234,50", "1,234.50" and "12,5" all mean what a European or an American reader takes them for. */
function centsOf(digits: string): number {
  const match = /^(.*?)(?:[.,](\d{1,2}))?$/.exec(digits)
  const whole = (match?.[1] ?? digits).replace(/[.,]/g, '')
  return Number(whole) * 100 + Number((match?.[2] ?? '').padEnd(2, '0'))
}
