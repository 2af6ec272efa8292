import type {EventId} from '../protocol/ids.ts'
import type {EventVerdict} from '../protocol/wire.ts'
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

export function rejections(verdicts: readonly EventVerdict[]): Rejection[] {
  return verdicts.flatMap(verdict =>
    verdict.status === 'rejected' ? [{id: verdict.id as EventId, reason: verdict.error.message}] : [],
  )
}
