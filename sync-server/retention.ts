import {HoldfastError} from '../runtime/protocol/errors.ts'

export type Days = {days: number}

/**
 * How long each layer is kept: one rule a layer, in one place, enforced by the sweep. [RET-1] Time counts from the last
 * change. What is not said stays for ever: nothing but a rule and an erasure shortens a transcript. [LOG-1]
 */
export type Retention = {
  /** Nothing of a connection is stored. */
  connections: 'not stored'
  /** A session that rested this long is erased as a whole, with a tombstone, on devices too. */
  transcripts: Days | 'for ever'
  /** These are part of the transcript, or folded from it. */
  runs: 'with the transcript'
  documents: 'with the transcript'
  /** What no event has named a day after it was brought goes sooner. */
  blobs: 'with the transcript'
  /** Manifests are part of the transcript; debug records that are kept elsewhere may go sooner. */
  views: Days | 'with the transcript'
  tokenStreams: Days | 'with the transcript'
  memory: Days | 'for ever'
  /** Ledger and approvals; they outlive their transcript, and are dropped only after it. */
  receipts: Days | 'for ever'
  audit: Days | 'for ever'
}

/** The rules that a layer beside the store may be under. */
export type LayerRule = 'views' | 'tokenStreams' | 'memory'

const standard: Retention = {
  connections: 'not stored',
  transcripts: 'for ever',
  runs: 'with the transcript',
  documents: 'with the transcript',
  blobs: 'with the transcript',
  views: 'with the transcript',
  tokenStreams: {days: 1},
  memory: 'for ever',
  receipts: 'for ever',
  audit: 'for ever',
}

/**
 * Completes the rules that a host gives.
 *
 * @throws HoldfastError `misconfigured` for days that are no positive number, and for receipts or audit that would go
 * before the transcript that they account for
 * @example
 * const retention = retentionOf({transcripts: {days: 90}, receipts: {days: 3650}})
 */
export function retentionOf(given: Partial<Retention> = {}): Retention {
  const retention = {...standard, ...given}
  for (const [layer, rule] of Object.entries(retention)) {
    if (typeof rule === 'object' && !(rule.days > 0)) throw wrong(layer, `a positive number of days, got ${rule.days}`)
  }
  for (const layer of ['receipts', 'audit'] as const) {
    if (isShorter(retention[layer], retention.transcripts)) throw wrong(layer, 'at least as long as transcripts')
  }
  return retention
}

/** Transcripts that are kept for ever may still be erased on request, and their receipts then have a time of their own. */
function isShorter(rule: Days | string, than: Days | string): boolean {
  return typeof rule === 'object' && typeof than === 'object' && rule.days < than.days
}

/** The time before which a layer goes, in milliseconds; null when no time of its own ends it. */
export function cutoff(rule: Days | string, now: number): number | null {
  return typeof rule === 'object' ? now - rule.days * 86_400_000 : null
}

function wrong(layer: string, expected: string): HoldfastError {
  return new HoldfastError('misconfigured', `retention.${layer}: expected ${expected}.`)
}
