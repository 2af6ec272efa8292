import type {Listen} from '../page/page-parts.ts'
import {tellListeners} from '../protocol/tell-listeners.ts'
import type {Publisher} from './runtime-service.ts'

/** Frames within one process: publisher and listeners share memory. */
export function localFeed(): Publisher & {listen: Listen} {
  const topics = new Map<string, Set<(frame: never) => void>>()
  return {
    publish(topic, frame) {
      tellListeners((topics.get(topic) ?? []) as Iterable<(frame: unknown) => void>, frame)
    },
    listen(topic, listener) {
      const listeners = topics.get(topic) ?? new Set()
      topics.set(topic, listeners)
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
