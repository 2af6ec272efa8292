/** Back-off in milliseconds after the n-th consecutive failure. */
export function paceMs(failures: number): number {
  return Math.min(250 * 2 ** failures, 15_000)
}
