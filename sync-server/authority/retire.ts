import {cutoff, type Retention} from '../retention.ts'
import {unnamedMs} from './blobs.ts'
import {type Eraser, finishErasure} from './erase.ts'

/** Records of one kind that one round takes; the next round goes on. */
const perRound = 500

/** Ends what has outlived its rule. Of several processes each may do it; nothing is ended twice. [RET-1] */
export async function sweepRetention(eraser: Eraser, retention: Retention): Promise<void> {
  const {store, environment, layers} = eraser
  const now = environment.now()
  await eraseIdleSessions(eraser, cutoff(retention.transcripts, now))
  await store.blobs.dropUnnamed(now - unnamedMs, perRound)
  const [receipts, audit] = [cutoff(retention.receipts, now), cutoff(retention.audit, now)]
  if (receipts !== null) await store.keeping.dropReceipts(receipts, perRound)
  if (audit !== null) await store.keeping.dropAudit(audit, perRound)
  for (const {expiry} of layers) {
    const before = expiry ? cutoff(retention[expiry.rule], now) : null
    if (before !== null) await expiry?.before(before)
  }
}

async function eraseIdleSessions(eraser: Eraser, before: number | null): Promise<void> {
  if (before === null) return
  const {store, environment} = eraser
  for (const {tenant, session} of await store.keeping.idleSessions(before, perRound)) {
    const erasure = await store.erasures.begin({
      ...{id: environment.id('erasure'), tenant, by: null, at: environment.now()},
      ...{session, of: null, branches: 'keep', derived: false, idleSince: before},
    })
    if (erasure) await finishErasure(eraser, erasure)
  }
}
