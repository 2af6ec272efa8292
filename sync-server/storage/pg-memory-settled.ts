import {toHex} from '../../runtime/protocol/hex.ts'
import type {MemoryProposal} from '../../runtime/protocol/memory.ts'
import type {Owner} from '../principal.ts'
import {placeholders, type SqlQuery} from './sql.ts'

type Sourced = Pick<MemoryProposal, 'sources' | 'key'>

/**
 * Marks source events as settled: an item derived from them was corrected or forgotten, and a later extraction must
 * not propose it again. An item without a key settles its events for every key. [MEM-5]
 */
export async function settleSources(tx: SqlQuery, {tenant, subject}: Owner, {sources, key}: Sourced): Promise<void> {
  for (const {session, events} of sources) {
    for (const event of new Set(events)) {
      await tx.query(
        `INSERT INTO hf_memory_settled (tenant, subject, session, event, key_hash) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING`,
        [tenant, subject, session, event, await keyHash(key)],
      )
    }
  }
}

export async function isSettled(tx: SqlQuery, {tenant, subject}: Owner, {sources, key}: Sourced): Promise<boolean> {
  const events = sources.flatMap(source => source.events)
  const hash = await keyHash(key)
  const found = await tx.query(
    `SELECT event FROM hf_memory_settled WHERE tenant = $1 AND subject = $2
       AND (key_hash = '' OR $3 = '' OR key_hash = $3) AND event IN (${placeholders(events.length, 3)}) LIMIT 1`,
    [tenant, subject, hash, ...events],
  )
  return found.length > 0
}

/** A key reveals what an item was about, so only its hash is kept. No key is the empty text. */
async function keyHash(key: string | null): Promise<string> {
  if (key === null) return ''
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))
  return toHex(new Uint8Array(digest))
}
