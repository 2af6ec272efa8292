import {HoldfastError} from '../runtime/protocol/errors.ts'

export type Days = {days: number}

/**
 * Retention rule of each layer, enforced by the sweep. [RET-1] The period starts at the last change. Without a rule,
 * data is kept forever: only a rule or an erasure shortens a transcript. [LOG-1]
 */
export type Retention = {
  /** Connections are never stored. */
  connections: 'not stored'
  /** A session without changes for this period is erased completely, with a tombstone, and on devices too. */
  transcripts: Days | 'for ever'
  /** Runs and documents are part of the transcript, or derived from it. */
  runs: 'with the transcript'
  documents: 'with the transcript'
  /** A blob that no event references within a day of its upload is deleted earlier. */
  blobs: 'with the transcript'
  /** Manifests are part of the transcript. Debug records that a layer stores elsewhere may expire earlier. */
  views: Days | 'with the transcript'
  tokenStreams: Days | 'with the transcript'
  memory: Days | 'for ever'
  /** Operation ledger and approvals. They outlive their transcript and are deleted only after it. */
  receipts: Days | 'for ever'
  audit: Days | 'for ever'
}

/** The rules that a data layer may use. */
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
 * Completes the given rules with the defaults.
 *
 * @throws HoldfastError `misconfigured` if days are not a positive number, or if receipts or audit would expire
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

/**
 * Transcripts kept forever can still be erased on request, so receipts with a limited period are allowed beside them.
 */
function isShorter(rule: Days | string, than: Days | string): boolean {
  return typeof rule === 'object' && typeof than === 'object' && rule.days < than.days
}

/** Returns the time (ms since 1970) before which records expire, or null if the rule sets no period. */
export function cutoff(rule: Days | string, now: number): number | null {
  return typeof rule === 'object' ? now - rule.days * 86_400_000 : null
}

function wrong(layer: string, expected: string): HoldfastError {
  return new HoldfastError('misconfigured', `retention.${layer}: expected ${expected}.`)
}
