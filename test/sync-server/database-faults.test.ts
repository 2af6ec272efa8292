import {afterEach, beforeAll, describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {LogLine} from '../../runtime/protocol/log-line.ts'
import {openPgStore, type Store} from '../../sync-server/index.ts'
import {type OpenedPostgres, openPostgres, type PostgresTimeouts} from '../../sync-server/postgres.ts'
import {pgSql} from '../../sync-server/storage/postgres-sql.ts'
import {realPostgres} from '../support/real-postgres.ts'
import {type TcpFaultProxy, tcpFaultProxy} from '../support/tcp-fault-proxy.ts'
import {headersOf, type Served, type Who} from './support/caller.ts'
import {deskServers, logOf} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const postgres = realPostgres()
const stores: Store[] = []
beforeAll(async () => {
  stores.push(await openPgStore(postgres().sql))
})
const servers = deskServers({
  get sql() {
    return postgres().sql
  },
  get store() {
    return stores[0]!
  },
})

const opened: {close(): Promise<unknown>}[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const brisk: PostgresTimeouts = {statementMs: 1000, lockMs: 500, idleInTransactionMs: 500, answerMs: 1500}

/** A server whose only way to Postgres is a line that the test can break. */
async function serverOverLine(options: {connections?: number; lines?: LogLine[]} = {}) {
  const url = new URL(postgres().url)
  const line = await tcpFaultProxy(Number(url.port))
  opened.push(line)
  url.port = String(line.port)
  url.searchParams.set('application_name', 'over-line')
  const {connections = 4, lines = []} = options
  const database = await openPostgres({url: url.href, connections, connectMs: 1000, timeouts: brisk})
  opened.push({close: () => endOver(line, database)})
  const store = await openPgStore(database.sql)
  const server = servers.server({store, log: entry => lines.push(entry), onFault: () => undefined})
  return {line, database, server}
}

async function endOver(line: TcpFaultProxy, database: OpenedPostgres): Promise<void> {
  line.heal()
  line.reset()
  await database.close()
}

async function push(served: Served, who: Who, session: string, events: unknown[]): Promise<Response> {
  return served.app.request(`/v1/sessions/${session}/events`, {
    method: 'POST',
    headers: headersOf(who),
    body: JSON.stringify({events}),
  })
}

async function readiness(served: Served): Promise<number> {
  return (await served.app.request('/readyz')).status
}

async function terminateOthers(): Promise<void> {
  await postgres().sql.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'over-line'`,
  )
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 20))
}

describe('Postgres ends connections', () => {
  test('[SYNC-4] terminated under load, the server answers 503 or 200, keeps everything once and is ready again', async () => {
    const {server} = await serverOverLine()
    await server.start()
    const answers = new Set<number>()
    const devices = await Promise.all(
      Array.from({length: 6}, async (_, n) => {
        const device = testDevice({tenant: 'terminated', subject: `s${n}`})
        const events = [device.open(), ...Array.from({length: 8}, (_, m) => device.post(`message ${m}`))]
        for (const event of events) {
          await until(async () => {
            const answer = await push(server, device.who, device.session, [event])
            answers.add(answer.status)
            if (answer.status === 503) {
              expect(await answer.json()).toMatchObject({error: {code: 'unavailable'}})
              expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
            }
            if (event === events[4]) await terminateOthers()
            return answer.status === 200
          })
        }
        return {device, events}
      }),
    )
    expect([...answers].filter(status => status !== 200 && status !== 503)).toEqual([])
    for (const {device, events} of devices) {
      const stored = (await logOf(server, device.who, device.session)).map(({id}) => id)
      expect(stored).toEqual(events.map(({id}) => id))
    }
    await until(async () => (await readiness(server)) === 200)
    await server.close()
  })

  test('a connection that is lost between two statements of a transaction does not end the process', async () => {
    const {database} = await serverOverLine()
    const outcome = database.sql.transaction(async tx => {
      const [row] = await tx.query<{pid: number}>('SELECT pg_backend_pid() AS pid')
      await postgres().sql.query('SELECT pg_terminate_backend($1)', [row!.pid])
      await until(async () => (await alive(row!.pid)) === false)
      return tx.query('SELECT 1')
    })
    await expect(outcome).rejects.toMatchObject({code: 'unavailable'})
    expect(await database.sql.query('SELECT 1 AS one')).toEqual([{one: 1}])
  })

  test('a line that resets every connection gives 503 with a line in the log, and works once it heals', async () => {
    const lines: LogLine[] = []
    const {line, server} = await serverOverLine({lines})
    const device = testDevice({tenant: 'reset', subject: 'ana'})
    await device.push(server, [device.open()])
    line.refuse()
    const answer = await push(server, device.who, device.session, [device.post('one')])
    expect({status: answer.status, retry: answer.headers.get('retry-after')}).toEqual({status: 503, retry: '2'})
    expect(JSON.stringify(await answer.json())).not.toContain('127.0.0.1')
    expect(await readiness(server)).toBe(503)
    expect(lines.filter(({event}) => event === 'server.unavailable')).not.toEqual([])
    line.heal()
    await device.push(server, [device.post('two')])
  })
})

describe('the line to Postgres goes silent', () => {
  test('requests are answered with 503 within the limits, readiness is false, and all works once it heals', async () => {
    const {line, server} = await serverOverLine()
    const device = testDevice({tenant: 'silent', subject: 'ana'})
    await device.push(server, [device.open()])
    line.silence()
    const answers = await Promise.all(
      Array.from({length: 8}, () => push(server, device.who, device.session, [device.post('again')])),
    )
    expect(answers.map(({status}) => status)).toEqual(Array.from({length: 8}, () => 503))
    expect(await readiness(server)).toBe(503)
    line.heal()
    await until(async () => (await push(server, device.who, device.session, [device.post('healed')])).status === 200)
    await server.start()
    expect(await readiness(server)).toBe(200)
    await server.close()
  })

  test('a transaction that it cut off lets go of its session by itself', async () => {
    const {line, database, server} = await serverOverLine()
    const device = testDevice({tenant: 'orphan', subject: 'ana'})
    await device.push(server, [device.open()])
    const cut = database.sql.transaction(async tx => {
      await tx.query(`SELECT set_config('holdfast.across', 'test', true)`)
      await tx.query('SELECT * FROM hf_sessions WHERE tenant = $1 FOR UPDATE', ['orphan'])
      line.silence()
      await tx.query('SELECT 1')
    })
    await expect(cut).rejects.toMatchObject({code: 'unavailable'})
    const other = servers.server()
    await until(async () => (await push(other, device.who, device.session, [device.post('free')])).status === 200)
  })
})

describe('the name of Postgres leads to a server that takes no writes', () => {
  const writer = () => new URL(`${postgres().url}?options=-c%20default_transaction_read_only%3Doff`).href
  const setRole = async (sql: string) => {
    const {sql: direct, close} = await openPostgres({url: writer(), connections: 1})
    await direct.query(sql)
    await close()
  }
  afterEach(() => setRole('ALTER ROLE holdfast RESET default_transaction_read_only'))

  test('writes and readiness are 503 meanwhile, and no connection of that time is used once writes work again', async () => {
    const {line, database, server} = await serverOverLine()
    await server.start()
    const device = testDevice({tenant: 'failover', subject: 'ana'})
    await device.push(server, [device.open()])
    await setRole('ALTER ROLE holdfast SET default_transaction_read_only = on')
    line.reset()
    // Readers fill the pool with connections that answer as if nothing were wrong.
    await until(async () => {
      const ask = () => database.sql.query<{on: string}>(`SELECT current_setting('transaction_read_only') AS on`)
      const answers = await Promise.all(Array.from({length: 4}, () => ask().catch(() => [])))
      return answers.every(([row]) => row?.on === 'on')
    })
    expect(await readiness(server)).toBe(503)
    expect((await push(server, device.who, device.session, [device.post('refused')])).status).toBe(503)
    await Promise.all(Array.from({length: 4}, () => database.sql.query('SELECT pg_sleep(0.05)')))
    await setRole('ALTER ROLE holdfast RESET default_transaction_read_only')
    // The first write may still meet such a connection; it makes all of them suspect.
    await push(server, device.who, device.session, [device.post('first')])
    expect((await push(server, device.who, device.session, [device.post('second')])).status).toBe(200)
    expect(await readiness(server)).toBe(200)
    await server.close()
  })
})

describe('Postgres has no connection left', () => {
  test('a request that waits too long for one is answered with 503', async () => {
    const {database, server} = await serverOverLine({connections: 1})
    let release = () => {}
    const held = database.sql.transaction(() => new Promise<void>(resolve => (release = resolve)))
    const device = testDevice({tenant: 'exhausted', subject: 'ana'})
    const answer = await push(server, device.who, device.session, [device.open()])
    expect({status: answer.status, body: await answer.json()}).toMatchObject({
      status: 503,
      body: {error: {code: 'unavailable'}},
    })
    release()
    await held.catch(() => undefined)
  })

  test.each([
    '53300 too_many_connections',
    '57P01 admin_shutdown',
    '57P03 cannot_connect_now',
    '08006 connection_failure',
    '25006 read_only_sql_transaction',
    '40P01 deadlock_detected',
    '57014 query_canceled',
    '53100 disk_full',
    '58030 io_error',
    'ECONNRESET',
    'ENOTFOUND',
  ])('%s is unavailable', async words => {
    const [code] = words.split(' ')
    const fault = Object.assign(new Error(words), {code})
    const sql = pgSql({
      query: () => Promise.reject(fault),
      connect: async () => ({query: () => Promise.reject(fault), release: () => undefined}),
    })
    await expect(sql.transaction(tx => tx.query('SELECT 1'))).rejects.toMatchObject({code: 'unavailable', cause: fault})
  })

  test('a fault of a statement is none of these', async () => {
    const outcome = await postgres()
      .sql.query('SELECT 1 / 0')
      .catch(error => error)
    expect(HoldfastError.is(outcome)).toBe(false)
    expect(outcome).toMatchObject({code: '22012'})
  })
})

async function alive(pid: number): Promise<boolean> {
  return (await postgres().sql.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).length > 0
}
