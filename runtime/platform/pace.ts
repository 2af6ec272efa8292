/** Milliseconds to wait after the n-th failure in a row: soon at first, then slowly, for as long as the page lives. */
export function paceMs(failures: number): number {
  return Math.min(250 * 2 ** failures, 15_000)
}
