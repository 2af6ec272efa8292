import type {DivergenceRecord, Resolution} from '../protocol/divergence.ts'
import type {EventId, RunId, SessionId} from '../protocol/ids.ts'
import type {DeviceStore, UnitOfWork, WrittenEvent} from './device-store.ts'
import {type EventRow, plainText, rows, type Sql, selectEvent, toDurable} from './pglite-rows.ts'
import {readStored} from './read-stored.ts'

type Reads = Pick<DeviceStore, 'own' | 'since' | 'divergences' | 'sessionOfRun'>

export function divergenceReads(sql: Sql): Reads {
  return {
    own: async (session, kinds) => {
      // For the planner: without it the index on operations is not thought of.
      const operations = kinds?.every(kind => kind.startsWith('operation.')) ? `and kind like 'operation.%'` : ''
      const found = await rows<EventRow>(
        sql,
        `${selectEvent} where session = $1 and ($2::text[] is null or kind = any($2::text[])) ${operations} order by place, device_seq, id`,
        [session, kinds],
      )
      return found.map(toDurable)
    },
    since: async (session, seq) => {
      const found = await rows<Written>(
        sql,
        `select body, based_on, status, divergence from holdfast_events where session = $1 and place > $2
           or session = $1 and status = 'rejected' order by device_seq, id`,
        [session, seq],
      )
      return found.map(toWritten)
    },
    divergences: async session => {
      const found = await rows<DivergenceRow>(
        sql,
        'select id, session, base, choice, fork, resolved_at from holdfast_divergences where session = $1 order by base, id',
        [session],
      )
      return found.map(toDivergence)
    },
    sessionOfRun: async run => {
      const found = await rows<{session: string; body: string}>(
        sql,
        `select session, body from holdfast_events where kind = 'run.started' and position($1 in body) > 0`,
        [run],
      )
      const started = found.find(({body}) => readStored(JSON.parse(body)).run === (run satisfies RunId))
      return started ? (started.session as SessionId) : null
    },
  }
}

type Writes = Pick<UnitOfWork, 'setAside' | 'resolve' | 'basedOn' | 'lastOwn'>

export function divergenceWrites(sql: Sql): Writes {
  return {
    setAside: async ({session, events, reason, head, divergence}) => {
      await sql.query(
        `update holdfast_events set status = 'rejected', place = $2, reason = $3, divergence = $4
         where id = any($1::text[]) and status = 'pending'`,
        [events, head, plainText(reason), divergence?.id ?? null],
      )
      if (!divergence) return
      await sql.query('insert into holdfast_divergences (id, session, base) values ($1, $2, $3)', [
        divergence.id,
        session,
        divergence.base,
      ])
    },
    resolve: async (divergence, resolution) => {
      const {choice = null, fork = null, at = null} = resolution ?? {}
      const changed = await rows<{id: string}>(
        sql,
        `update holdfast_divergences set choice = $2, fork = $3, resolved_at = $4
         where id = $1 and (choice is null or ($2::text is null and choice = 'discard')) returning id`,
        [divergence, choice, fork, at],
      )
      return changed.length > 0
    },
    basedOn: async ids => {
      const found = await rows<{based_on: number}>(
        sql,
        'select based_on from holdfast_events where id = any($1::text[]) and based_on is not null',
        [ids],
      )
      return found.map(row => Number(row.based_on))
    },
    lastOwn: async (session, device, before) => {
      const [own] = await rows<{place: number}>(
        sql,
        `select place from holdfast_events where session = $1 and status = 'accepted' and place < $2
           and device_seq > 0 and device_seq < $3 and position($4 in body) > 0 order by place desc limit 1`,
        [session, before.seq, before.deviceSeq, `"device":"${device}"`],
      )
      return own ? Number(own.place) : 0
    },
  }
}

type Written = {body: string; based_on: number | null; status: WrittenEvent['status']; divergence: string | null}

function toWritten({body, based_on, status, divergence}: Written): WrittenEvent {
  return {
    event: readStored(JSON.parse(body)),
    basedOn: based_on === null ? null : Number(based_on),
    status,
    divergence: divergence as EventId | null,
  }
}

type DivergenceRow = {
  id: string
  session: string
  base: number
  choice: Resolution['choice'] | null
  fork: string | null
  resolved_at: number | null
}

function toDivergence({id, session, base, choice, fork, resolved_at}: DivergenceRow): DivergenceRecord {
  const resolution = choice && {choice, fork: fork as SessionId | null, at: Number(resolved_at)}
  return {id: id as EventId, session: session as SessionId, base: Number(base), resolution}
}
