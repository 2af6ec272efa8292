import type {ErasureReceipt, ErasureRequest} from '../../runtime/protocol/erasure.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {DataLayer} from '../data-layer.ts'
import {type ErasedFiles, withFilesReason} from '../erased-files.ts'
import type {Owner, Principal} from '../principal.ts'
import type {Erasure, ErasureTarget, LayerCount} from '../storage/erasure-book.ts'
import type {Store} from '../storage/store.ts'
import type {Authority} from './authority.ts'
import {pokeInboxes} from './poke.ts'

export type Eraser = Authority & {
  layers: readonly DataLayer[]
  /** The role that may erase and export for any subject of its tenant. */
  operatorRole: string
  files: ErasedFiles
}

/**
 * Erases a session or a subject wherever the server stores data of it, and returns a receipt that states what is
 * outstanding. Idempotent: repeated for the same session, it returns the first receipt. [RET-2]
 *
 *   begin ─▶ rows deleted, tombstones written ─▶ other layers ─▶ files clean ─▶ devices confirm their purge ─▶ complete
 *   (one transaction)                            (after a crash the sweep continues from here)
 *
 * @throws HoldfastError `not_found` for a session that does not exist or belongs to another subject, `forbidden` for
 * another subject
 */
export async function erase(eraser: Eraser, principal: Principal, request: ErasureRequest): Promise<ErasureReceipt> {
  const {store, environment} = eraser
  const erasure = await store.erasures.begin({
    ...targetOf(eraser, principal, request),
    id: environment.id('erasure'),
    tenant: principal.tenant,
    by: principal.subject,
    at: environment.now(),
  })
  if (!erasure) throw new HoldfastError('not_found', 'No such session.')
  await finishErasure(eraser, erasure)
  const stored = await store.erasures.receipt({tenant: erasure.tenant, erasure: erasure.id})
  if (!stored) throw new HoldfastError('internal', 'An erasure cannot be read back.')
  return withFilesReason(stored, eraser.files)
}

function targetOf(eraser: Eraser, principal: Principal, request: ErasureRequest): ErasureTarget {
  const operator = principal.roles.includes(eraser.operatorRole)
  if ('session' in request) {
    const {session, branches, memory} = request
    return {session, branches, derived: memory, of: operator ? null : principal.subject}
  }
  if (request.subject !== principal.subject && !operator) {
    throw new HoldfastError(
      'forbidden',
      `Only a holder of the role "${eraser.operatorRole}" may erase another subject.`,
    )
  }
  return {subject: request.subject}
}

/** Erases the other layers after the rows. Idempotent. */
export async function finishErasure(eraser: Eraser, erasure: Erasure): Promise<void> {
  const {store, bus, environment, log} = eraser
  const {tenant, subject, sessions, session, derived} = erasure
  const ref = {tenant, erasure: erasure.id}
  const operations = await store.erasures.operations(erasure)
  const counts: LayerCount[] = []
  for (const layer of eraser.layers) {
    if (layer.derived && !derived) counts.push({name: layer.name, removed: 0, kept: 'all of it: it was not asked for'})
    else {
      const removed = await layer.erase({tenant, subject, sessions, operations, whole: session === null})
      counts.push({name: layer.name, removed, kept: layer.kept ?? null})
    }
  }
  await store.erasures.finish(ref, counts, environment.now())
  const others = await store.erasures.subjects(ref)
  for (const each of new Set([subject, ...others])) bus.publish({type: 'erased', tenant, subject: each})
  log('erasure.done', {
    'holdfast.tenant': tenant,
    'holdfast.erasure_id': erasure.id,
    ...(session !== null && {'holdfast.session_id': session}),
    'holdfast.erased.sessions': sessions.length,
    'holdfast.erased.records': counts.reduce((sum, {removed}) => sum + removed, 0),
  })
  // An approver's device also holds what it was shown, until it reloads its inbox.
  for (const role of await store.approvals.rolesAsked(tenant, sessions)) pokeInboxes(eraser, tenant, role)
}

/** Completes erasures that a crash interrupted. Returns their number. */
export async function sweepErasures(eraser: Eraser): Promise<number> {
  const {store, onFault} = eraser
  const erasures = await store.erasures.unfinished(100)
  for (const erasure of erasures) await finishErasure(eraser, erasure).catch(onFault)
  return erasures.length
}

/**
 * Returns the error for a session that does not exist. Only its own subject learns that it was erased. [ID-4, RET-3]
 */
export async function goneError({erasures}: Store, owner: Owner, session: SessionId): Promise<HoldfastError> {
  const erasure = await erasures.tombstone(owner, session)
  if (!erasure) return new HoldfastError('not_found', 'No such session.')
  return new HoldfastError('erased', 'This session was erased; nothing of it is kept here.', {details: {erasure}})
}
