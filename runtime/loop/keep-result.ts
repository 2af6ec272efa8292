import {overBudget} from '../protocol/blob.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {UnitOfWork} from '../storage/device-store.ts'
import type {ToolResult, ToolReturn} from './run-tools.ts'
import type {BlobContent} from './storable-result.ts'

/**
 * Writes the bytes that a result holds in the transaction of its event: neither is ever here without the other. [LOG-5]
 *
 * @throws HoldfastError `too_large` when the session would hold more than it may; then nothing of it may be kept
 */
export async function keepResult(
  unit: UnitOfWork,
  session: SessionId,
  {result, blobs}: ToolResult,
): Promise<ToolReturn> {
  await keepBlobs(unit, session, blobs)
  return result
}

/** As `keepResult`, for the blobs of any event. */
export async function keepBlobs(unit: UnitOfWork, session: SessionId, blobs: readonly BlobContent[]): Promise<void> {
  if (blobs.length === 0) return
  for (const {ref, bytes} of blobs) await unit.saveBlob(session, {id: ref.$blob, bytes, state: 'unsent'})
  const fault = overBudget(await unit.blobBytes(session))
  if (fault) throw new HoldfastError('too_large', fault, {details: {field: 'blobs'}})
}
