import {type CounterName, counters, type HistogramName, histograms, type Labels} from './meters.ts'

/** The metrics of this process in the Prometheus text format. */
export interface Registry {
  add(name: CounterName, labels: Labels, by: number): void
  record(name: HistogramName, labels: Labels, value: number): void
  text(): string
}

/** Upper bounds of the buckets per unit: seconds and tokens. */
const bounds: Record<string, readonly number[]> = {
  s: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  '{token}': [1, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576],
}

/** Maximum label sets per metric. Further sets are counted together, which bounds the memory. */
const maxSeries = 1000

type Series<Value> = Map<string, Value>
type Distribution = {counts: number[]; sum: number; count: number}

/**
 * Creates a registry. Two kinds of metric in one text format need no dependency; resources, exemplars and push are
 * left to the host's OpenTelemetry SDK.
 */
export function createRegistry(): Registry {
  const counted = new Map<CounterName, Series<number>>()
  const measured = new Map<HistogramName, Series<Distribution>>()
  return {
    add(name, labels, by) {
      const series = seriesOf(counted, name)
      const key = keyIn(series, labels)
      series.set(key, (series.get(key) ?? 0) + by)
    },
    record(name, labels, value) {
      const series = seriesOf(measured, name)
      const key = keyIn(series, labels)
      const ends = bounds[histograms[name].unit] ?? []
      const before = series.get(key) ?? {counts: ends.map(() => 0), sum: 0, count: 0}
      const counts = before.counts.map((count, i) => (value <= (ends[i] ?? 0) ? count + 1 : count))
      series.set(key, {counts, sum: before.sum + value, count: before.count + 1})
    },
    text: () =>
      [
        ...[...counted].flatMap(([name, series]) => counterLines(name, series)),
        ...[...measured].flatMap(([name, series]) => histogramLines(name, series)),
        '',
      ].join('\n'),
  }
}

function seriesOf<Name, Value>(metrics: Map<Name, Series<Value>>, name: Name): Series<Value> {
  const series = metrics.get(name) ?? new Map<string, Value>()
  metrics.set(name, series)
  return series
}

function keyIn(series: Series<unknown>, labels: Labels): string {
  const key = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${plain(name)}="${escaped(value)}"`)
    .join(',')
  return series.has(key) || series.size < maxSeries ? key : 'overflow="true"'
}

function counterLines(name: CounterName, series: Series<number>): string[] {
  const metric = `${plain(name)}_total`
  return [
    `# HELP ${metric} ${counters[name]}`,
    `# TYPE ${metric} counter`,
    ...[...series].map(([key, value]) => `${metric}${braces(key)} ${value}`),
  ]
}

function histogramLines(name: HistogramName, series: Series<Distribution>): string[] {
  const {unit, help} = histograms[name]
  const metric = `${plain(name)}${unit === 's' ? '_seconds' : '_tokens'}`
  const lines = [...series].flatMap(([key, {counts, sum, count}]) => {
    const ends = (bounds[unit] ?? []).map((end, i) => `${metric}_bucket${braces(key, `le="${end}"`)} ${counts[i]}`)
    return [
      ...ends,
      `${metric}_bucket${braces(key, 'le="+Inf"')} ${count}`,
      `${metric}_sum${braces(key)} ${sum}`,
      `${metric}_count${braces(key)} ${count}`,
    ]
  })
  return [`# HELP ${metric} ${help}`, `# TYPE ${metric} histogram`, ...lines]
}

function braces(...labels: string[]): string {
  const given = labels.filter(label => label !== '')
  return given.length === 0 ? '' : `{${given.join(',')}}`
}

function plain(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_]/g, '_')
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
