import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SubjectId} from '../../runtime/protocol/ids.ts'
import type {Owner, Principal} from '../principal.ts'
import type {Eraser} from './erase.ts'

/** Version of the file format. Raise it when a reader of the old format would misread the new one. */
export const exportVersion = 1

/**
 * Exports all data of a subject as JSON Lines: a head, one record per line with its layer, and a last line with the
 * counts, so that a truncated file can be detected. Exports of another subject are audited.
 *
 * @throws HoldfastError `forbidden` for another subject without the operator's role
 */
export async function exportSubject(
  eraser: Eraser,
  principal: Principal,
  subject: SubjectId,
): Promise<AsyncIterable<string>> {
  const {store, environment, operatorRole} = eraser
  const {tenant} = principal
  if (subject !== principal.subject) {
    if (!principal.roles.includes(operatorRole)) {
      throw new HoldfastError('forbidden', `Only a holder of the role "${operatorRole}" may export another subject.`)
    }
    const entry = {action: 'subject.exported' as const, about: subject, reason: '', at: environment.now()}
    await store.audit.record({tenant, subject: principal.subject, ...entry})
  }
  return lines(eraser, {tenant, subject})
}

async function* lines(eraser: Eraser, owner: Owner): AsyncIterable<string> {
  const counts: Record<string, number> = {}
  const line = (value: unknown) => `${JSON.stringify(value)}\n`
  yield line({holdfast: 'export', version: exportVersion, ...owner, at: eraser.environment.now()})
  for await (const {layer, record} of allRecords(eraser, owner)) {
    counts[layer] = (counts[layer] ?? 0) + 1
    yield line({layer, record})
  }
  yield line({end: true, records: counts})
}

async function* allRecords({store, layers}: Eraser, owner: Owner) {
  yield* store.records(owner)
  for (const layer of layers) {
    for await (const record of layer.records(owner)) yield {layer: layer.name, record}
  }
}
