import {cutoff, type Retention} from '../retention.ts'
import {unnamedMs} from './blobs.ts'
import {type Eraser, finishErasure} from './erase.ts'

/** Number of idle sessions, and of records of other layers, that were removed. */
export type Retired = {sessions: number; records: number}

/** Maximum number of records of a kind per round; the next round continues. */
const perRound = 500

/** Removes data past its retention period and returns the counts. Safe to run in several processes. [RET-1] */
export async function sweepRetention(eraser: Eraser, retention: Retention): Promise<Retired> {
  const {store, environment, layers} = eraser
  const now = environment.now()
  const sessions = await eraseIdleSessions(eraser, cutoff(retention.transcripts, now))
  let records = await store.blobs.dropUnnamed(now - unnamedMs, perRound)
  const [receipts, audit] = [cutoff(retention.receipts, now), cutoff(retention.audit, now)]
  if (receipts !== null) records += await store.keeping.dropReceipts(receipts, perRound)
  if (audit !== null) records += await store.keeping.dropAudit(audit, perRound)
  for (const {expiry} of layers) {
    const before = expiry ? cutoff(retention[expiry.rule], now) : null
    if (before !== null) records += (await expiry?.before(before)) ?? 0
  }
  return {sessions, records}
}

async function eraseIdleSessions(eraser: Eraser, before: number | null): Promise<number> {
  if (before === null) return 0
  let erased = 0
  const {store, environment} = eraser
  for (const {tenant, session} of await store.keeping.idleSessions(before, perRound)) {
    const erasure = await store.erasures.begin({
      ...{id: environment.id('erasure'), tenant, by: null, at: environment.now()},
      ...{session, of: null, branches: 'keep', derived: false, idleSince: before},
    })
    if (!erasure) continue
    await finishErasure(eraser, erasure)
    erased += 1
  }
  return erased
}
