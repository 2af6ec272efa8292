import type {PGlite, Transaction} from '@electric-sql/pglite'
import {parse} from '../protocol/errors.ts'
import type {MemoryChangeId, MemoryId, RunId, SessionId} from '../protocol/ids.ts'
import {
  isRecord,
  type MemoryItem,
  memoryChangeSchema,
  memoryItemSchema,
  memoryProposalSchema,
} from '../protocol/memory.ts'
import type {
  DeviceMemoryStore,
  ExtractionBook,
  MemoryQueue,
  MemoryReplica,
  QueuedChange,
  RunToExtract,
  VectorShelf,
} from './memory-store.ts'

type Sql = Pick<Transaction, 'query'>

/** Memory on an opened PGlite instance whose tables `openPGliteStore` has brought up to date. */
export function pgliteMemory(db: PGlite): DeviceMemoryStore {
  return {replica: replicaOn(db), queue: queueOn(db), runs: runsOn(db), vectors: vectorsOn(db)}
}

async function rows<Row>(sql: Sql, query: string, params: unknown[] = []): Promise<Row[]> {
  return (await sql.query<Row>(query, params)).rows
}

function replicaOn(db: PGlite): MemoryReplica {
  return {
    read: async () => {
      const items = await rows<{body: string}>(db, 'select body from holdfast_memory order by id')
      const [at] = await rows<{cursor: number}>(db, 'select cursor from holdfast_memory_cursor')
      return {
        items: items.map(({body}) => parse(memoryItemSchema, JSON.parse(body), 'stored memory')),
        cursor: Number(at?.cursor ?? 0),
      }
    },
    receive: (items, cursor) =>
      db.transaction(async tx => {
        for (const item of items) await keep(tx, item)
        if (cursor !== null) await setCursor(tx, cursor)
      }),
    startOver: () =>
      db.transaction(async tx => {
        await tx.query('delete from holdfast_memory')
        await tx.query('delete from holdfast_memory_vectors')
        await setCursor(tx, 0)
      }),
  }
}

async function keep(tx: Sql, item: MemoryItem): Promise<void> {
  const [before] = await rows<{body: string}>(tx, 'select body from holdfast_memory where id = $1', [item.id])
  await tx.query(
    `insert into holdfast_memory (id, body) values ($1, $2)
     on conflict (id) do update set body = excluded.body`,
    [item.id, JSON.stringify(item)],
  )
  const old = before && (JSON.parse(before.body) as MemoryItem)
  // A vector is of a text: when the text is gone or another, so is the vector.
  const sameText = isRecord(item) && old && isRecord(old) && old.text === item.text
  if (!sameText) await tx.query('delete from holdfast_memory_vectors where item = $1', [item.id])
}

async function setCursor(tx: Sql, cursor: number): Promise<void> {
  await tx.query(
    `insert into holdfast_memory_cursor (cursor) values ($1) on conflict (one) do update set cursor = excluded.cursor`,
    [cursor],
  )
}

function queueOn(db: PGlite): MemoryQueue {
  return {
    proposals: async () => {
      const found = await rows<{body: string}>(db, 'select body from holdfast_memory_proposals order by place')
      return found.map(({body}) => parse(memoryProposalSchema, JSON.parse(body), 'queued memory'))
    },
    dropProposals: async ids => {
      await db.query('delete from holdfast_memory_proposals where id = any($1::text[])', [ids])
    },
    changes: async () =>
      (await rows<ChangeRow>(db, 'select * from holdfast_memory_outbox order by place')).map(toChange),
    addChange: ({id, item, change, notBefore}) =>
      db.transaction(async tx => {
        await tx.query('delete from holdfast_memory_outbox where item = $1 and refused is not null', [item])
        await tx.query(
          `insert into holdfast_memory_outbox (id, item, body, not_before) values ($1, $2, $3, $4)
           on conflict (id) do nothing`,
          [id, item, JSON.stringify(change), notBefore],
        )
      }),
    dropChange: async id =>
      (await rows(db, 'delete from holdfast_memory_outbox where id = $1 returning id', [id])).length > 0,
    refuseChange: async (id, reason) => {
      await db.query('update holdfast_memory_outbox set refused = $2 where id = $1', [id, JSON.stringify(reason)])
    },
  }
}

type ChangeRow = {id: string; item: string; body: string; not_before: number; refused: string | null}

function toChange(row: ChangeRow): QueuedChange {
  return {
    id: row.id as MemoryChangeId,
    item: row.item as MemoryId,
    change: parse(memoryChangeSchema, JSON.parse(row.body), 'queued change'),
    notBefore: Number(row.not_before),
    refused: row.refused === null ? null : (JSON.parse(row.refused) as string),
  }
}

function runsOn(db: PGlite): ExtractionBook {
  const inState = async (state: 'waiting' | 'failed') =>
    (await rows<RunRow>(db, 'select * from holdfast_memory_runs where state = $1 order by place', [state])).map(toRun)
  return {
    note: async (run, session) => {
      await db.query('insert into holdfast_memory_runs (run, session) values ($1, $2) on conflict do nothing', [
        run,
        session,
      ])
    },
    waiting: () => inState('waiting'),
    failed: () => inState('failed'),
    finish: (run, found) =>
      db.transaction(async tx => {
        const fault = 'fault' in found ? found.fault : null
        const [row] = await rows(
          tx,
          `update holdfast_memory_runs set state = $2, fault = $3 where run = $1 and state = 'waiting' returning run`,
          [run, fault === null ? 'done' : 'failed', fault && JSON.stringify(fault)],
        )
        if (!row || !('proposals' in found)) return
        for (const proposal of found.proposals) {
          await tx.query('insert into holdfast_memory_proposals (id, body) values ($1, $2)', [
            proposal.id,
            JSON.stringify(proposal),
          ])
        }
      }),
  }
}

type RunRow = {run: string; session: string; fault: string | null}

function toRun(row: RunRow): RunToExtract {
  return {
    run: row.run as RunId,
    session: row.session as SessionId,
    fault: row.fault === null ? null : (JSON.parse(row.fault) as string),
  }
}

function vectorsOn(db: PGlite): VectorShelf {
  return {
    read: async embedder => {
      const found = await rows<{item: string; vector: Uint8Array}>(
        db,
        'select item, vector from holdfast_memory_vectors where embedder = $1',
        [embedder],
      )
      return new Map(found.map(({item, vector}) => [item as MemoryId, new Float32Array(vector.slice().buffer)]))
    },
    save: (embedder, texts) =>
      db.transaction(async tx => {
        for (const {id, text, vector} of texts) {
          const [row] = await rows<{body: string}>(tx, 'select body from holdfast_memory where id = $1', [id])
          const item = row && (JSON.parse(row.body) as MemoryItem)
          if (!item || !isRecord(item) || item.text !== text) continue
          await tx.query(
            `insert into holdfast_memory_vectors (item, embedder, vector) values ($1, $2, $3)
             on conflict (item, embedder) do update set vector = excluded.vector`,
            [id, embedder, new Uint8Array(vector.slice().buffer)],
          )
        }
      }),
  }
}
