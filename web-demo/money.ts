/** Euro as a person writes them; the currency is fixed because the shop has one. */
export function euros(cents: number): string {
  const whole = Math.trunc(Math.abs(cents) / 100).toString()
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${cents < 0 ? '−' : ''}€${grouped}.${(Math.abs(cents) % 100).toString().padStart(2, '0')}`
}
