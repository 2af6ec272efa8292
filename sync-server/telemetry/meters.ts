import {metrics} from '@opentelemetry/api'
import type {Registry} from './registry.ts'

/** All metrics of the server with their description and unit. */
export const counters = {
  'holdfast.events': 'Events that joined a log, by kind.',
  'holdfast.runs.ended': 'Runs that ended, by how.',
  'holdfast.runs.troubled': 'Runs that ended for good and had failed, been resumed, or had an effect refused.',
  'holdfast.runs.recovered': 'Of these, the ones that completed all the same.',
  'holdfast.operations': 'Moves of operations, by tool and status.',
  'holdfast.model.refused': 'Model calls refused for want of budget.',
  'holdfast.faults': 'Faults of the server or of the code it was given.',
} as const
export const histograms = {
  'http.server.request.duration': {unit: 's', help: 'Time from a request to the head of its answer.'},
  'gen_ai.client.operation.duration': {unit: 's', help: 'Time of one model call, from asking to its last part.'},
  'gen_ai.client.token.usage': {unit: '{token}', help: 'Tokens of one model call.'},
  'holdfast.run.duration': {unit: 's', help: 'Time from the start of a run to its end, by the clocks of its devices.'},
  'holdfast.operation.duration': {unit: 's', help: 'Time of one call of an operation.'},
} as const

export type CounterName = keyof typeof counters
export type HistogramName = keyof typeof histograms
/** Label values must be few. Ids of sessions, runs or persons belong in spans. */
export type Labels = Record<string, string>

export interface Meters {
  add(name: CounterName, labels: Labels, by?: number): void
  record(name: HistogramName, labels: Labels, value: number): void
}

/** Records to the OpenTelemetry metrics API and, if present, to the registry of `/metrics`. */
export function createMeters(registry: Registry | null): Meters {
  const meter = () => metrics.getMeter('holdfast')
  return {
    add: (name, labels, by = 1) => {
      meter().createCounter(name, {description: counters[name]}).add(by, labels)
      registry?.add(name, labels, by)
    },
    record: (name, labels, value) => {
      const {unit, help} = histograms[name]
      meter().createHistogram(name, {unit, description: help}).record(value, labels)
      registry?.record(name, labels, value)
    },
  }
}

/** Returns the seconds since `startedAt`, a value of `performance.now()`. */
export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000
}
