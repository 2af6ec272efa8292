/** Median milliseconds of `runs` runs, after a tenth as many that do not count. */
export async function median(runs: number, work: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < runs / 10; i++) await work()
  const times: number[] = []
  for (let i = 0; i < runs; i++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  return middle(times)
}

export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** One line: what was measured, its yardstick from the same run, their ratio, and what the design asks of it. */
export function report(what: string, yardstick: {name: string; ms: number}, ms: number, reach: string): void {
  const ratio = (ms / yardstick.ms).toFixed(2)
  console.log(
    `${what}: ${ms.toFixed(2)} ms ÷ ${yardstick.name}: ${yardstick.ms.toFixed(2)} ms = ${ratio}×, reach ${reach}`,
  )
}

/** As `report`, for shares between 0 and 1. */
export function reportShare(
  what: string,
  yardstick: {name: string; share: number},
  share: number,
  reach: string,
): void {
  const percent = (value: number) => `${(value * 100).toFixed(1)} %`
  const ratio = (share / yardstick.share).toFixed(2)
  console.log(`${what}: ${percent(share)} ÷ ${yardstick.name}: ${percent(yardstick.share)} = ${ratio}×, reach ${reach}`)
}
