import type {EventId} from '../protocol/ids.ts'
import {deviceSeqClash, type EventVerdict} from '../protocol/wire.ts'
import type {Rejection} from '../storage/session-log.ts'

/** The server's answer already tells where our own events stand, which saves the pull when nobody else wrote. */
export function acceptedInOrder<E extends {id: EventId; seq: number | null}>(
  batch: readonly E[],
  verdicts: readonly EventVerdict[],
): E[] {
  const seqs = new Map(
    verdicts.flatMap(verdict => (verdict.status === 'rejected' ? [] : [[verdict.id, verdict.seq] as const])),
  )
  return batch
    .flatMap(event => {
      const seq = seqs.get(event.id)
      return seq === undefined ? [] : [{...event, seq}]
    })
    .sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
}

/** The database of this device was restored from an older copy, and has counted on from there. */
export function isSetBack(verdicts: readonly EventVerdict[]): boolean {
  return verdicts.some(verdict => verdict.status === 'rejected' && verdict.error.details?.clash === deviceSeqClash)
}

export function rejections(verdicts: readonly EventVerdict[]): Rejection[] {
  return verdicts.flatMap(verdict =>
    verdict.status === 'rejected' ? [{id: verdict.id as EventId, reason: verdict.error.message}] : [],
  )
}
