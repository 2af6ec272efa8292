import {readdirSync, readFileSync} from 'node:fs'
import {gunzipSync} from 'node:zlib'
import {afterEach, describe, expect, test} from 'vitest'
import type {Passport} from '../../../runtime/protocol/passport.ts'
import {openNodeDatabase} from '../../../runtime/storage/pglite/open-node.ts'
import {serverEnvironment} from '../../../sync-server/environment.ts'
import {createSyncServer, openPgStore, pgliteSql, type Sql} from '../../../sync-server/index.ts'
import {openPostgres} from '../../../sync-server/postgres.ts'
import {realPostgres} from '../../support/real-postgres.ts'
import {call, trustingAuth} from '../../sync-server/support/caller.ts'
import {decide, inbox, logOf, told} from '../../sync-server/support/desk-server.ts'
import {testDevice} from '../../sync-server/support/device.ts'
import {movableClock} from '../../sync-server/support/environment.ts'
import {refundDesk} from '../../sync-server/support/refund-desk.ts'

/**
 * Databases as earlier builds left them, each with an approval that is open, a run in the middle of a step, and an
 * operation that was proposed after the last sweep. Every build has to open all of them and do what they wait for. [LOG-8]
 *
 * To add one for a version that is released: in a test of that version, with `testDatabase` and `deskServers`, push for
 * the subject `ana` of the tenant `golden` three sessions with `device.refund`: 9,000 cents (stop once the approval is
 * asked for), the first three events of one over 100 cents, and 300 cents to a server that is closed. Write every
 * statement of `migrations` and an INSERT for every row of every `hf_` table to `<date>-<name>.sql.gz`, and the ids to
 * `<date>-<name>.json`. An existing file is never changed.
 */
type Ids = {session: string; device: string; run: string; step: string; call: string; operation: string}
type Golden = {approval: string; waiting: Ids; working: Ids; due: Ids}

const folder = new URL('./', import.meta.url)
const names = readdirSync(folder).flatMap(file => (file.endsWith('.sql.gz') ? [file.slice(0, -'.sql.gz'.length)] : []))
const ana = {tenant: 'golden', subject: 'ana'}
const lead = {tenant: 'golden', subject: 'lea', roles: ['lead']}

const postgres = realPostgres()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const hosts: Record<string, () => Promise<{sql: Sql; run(script: string): Promise<unknown>}>> = {
  PGlite: async () => {
    const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
    closing.push(close)
    return {sql: pgliteSql(db), run: script => db.exec(script)}
  },
  Postgres: async () => {
    const name = `golden_${crypto.randomUUID().replaceAll('-', '')}`
    await postgres().pool.query(`CREATE DATABASE ${name}`)
    const url = new URL(postgres().url)
    url.pathname = name
    const {sql, pool, close} = await openPostgres({url: url.href})
    closing.push(close)
    return {sql, run: script => pool.query(script)}
  },
}

async function openGolden(name: string, host: string) {
  const opened = await hosts[host]!()
  await opened.run(gunzipSync(readFileSync(new URL(`${name}.sql.gz`, folder))).toString())
  const desk = refundDesk(opened.sql)
  await desk.prepare()
  const environment = movableClock()
  const faults: unknown[] = []
  const server = createSyncServer({
    store: await openPgStore(opened.sql),
    authenticate: trustingAuth,
    facts: desk.facts,
    operations: desk.operation(),
    // Soon after it was made, whenever this runs: an approval does not wait for ever.
    environment: {...environment, now: () => Math.floor(madeAt(name) + performance.now())},
    onFault: error => faults.push(error),
  })
  closing.push(() => server.close())
  const ids = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Golden
  return {server, desk, ids, faults, principals: {ana, lead}}
}

function madeAt(name: string): number {
  return Date.parse(`${name.slice(0, 10)}T00:00:00Z`) + 2 * 86_400_000
}

/** The device that was at work, going on where it had stopped. */
function goOn({session, device, run}: Ids, from: number) {
  const made = testDevice(ana, session as never)
  let deviceSeq = from
  const next: typeof made.event = (kind, data, extra) =>
    made.event(kind, data, {device: device as never, deviceSeq: deviceSeq++, ...extra})
  return {...made, next, held: made.held(run as never)}
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 20))
}

test('there is at least one database of each form that was ever stored', () => {
  expect(names.length).toBeGreaterThanOrEqual(2)
})

describe.each(names)('a database of the build %s', name => {
  test.each(Object.keys(hosts))(
    '[LOG-8] on %s it opens, shows all that was there, does what was due and finishes the open run',
    async host => {
      const {server, desk, ids, faults} = await openGolden(name, host)
      await server.start()

      // What was due and nobody had looked at.
      await until(async () => (await told(server, ana, ids.due.session)).includes('operation.executed'))
      expect(await desk.payments(ids.due.operation)).toHaveLength(1)

      // The approval that was open.
      const open = await inbox(server, lead)
      expect(open.map(({approval}) => approval)).toEqual([ids.approval])
      const granted = await decide(server, lead, ids.approval, {verdict: 'approve', digest: open[0]!.digest, note: ''})
      expect(granted.status).toBe(200)
      await until(async () => (await told(server, ana, ids.waiting.session)).includes('operation.executed'))
      expect(await desk.payments(ids.waiting.operation)).toHaveLength(1)

      // The run in the middle of a step: it proposes, and is told.
      const {session, call: asked, operation, step} = ids.working
      const device = goOn(ids.working, 6)
      const input = {orderId: 'B2', cents: 100}
      const proposal = {operation, call: asked, tool: 'refundOrder', version: '1', input, basis: {}}
      const proposed = device.next('operation.proposed', proposal as never, {...device.held, step: step as never})
      expect((await device.push(server, [proposed])).verdicts).toMatchObject([{status: 'accepted'}])
      await until(async () => (await told(server, ana, session)).includes('operation.executed'))

      // And it ends: the call is answered, a second step has the last word.
      const {held, next} = device
      const log = await logOf(server, ana, session)
      const receipts = log.flatMap(event =>
        !('unreadable' in event) && event.kind === 'operation.executed' ? [event.data.receipt] : [],
      )
      const result = {call: asked as never, outcome: 'ok' as const, output: receipts[0]!}
      const second = {...held, step: serverEnvironment.id('step')}
      const manifest = {events: [], answers: [], estimatedTokens: 1, promptHash: '0'.repeat(64)}
      const reply = {content: [{type: 'text' as const, text: 'Refunded.'}], finish: 'stop' as const}
      const rest = [
        next('tool.returned', result, {...held, step: step as never}),
        next('step.prepared', {number: 2, manifest}, second),
        next('model.replied', {...reply, usage: {inputTokens: 1, outputTokens: 1}}, second),
        next('run.completed', {outcome: 'finished'}, held),
      ]
      const ended = await device.push(server, rest)
      expect(ended.verdicts).toMatchObject(rest.map(() => ({status: 'accepted'})))
      const passport = await call<Passport>(server, ana, `/v1/runs/${ids.working.run}/passport`)
      expect(passport.body.status).toBe('completed')

      for (const each of [ids.waiting, ids.working, ids.due]) {
        const events = await logOf(server, ana, each.session)
        expect(events.filter(event => 'unreadable' in event)).toEqual([])
        expect(events.map(({seq}) => seq)).toEqual(events.map((_, at) => at + 1))
        for (const path of [`/v1/runs/${each.run}/passport`, `/v1/runs/${each.run}/export`]) {
          expect({path, ...(await call(server, ana, path))}).toMatchObject({path, status: 200})
        }
        const one = testDevice(ana, each.session as never)
        expect((await one.push(server, [one.post('One more thing.')])).verdicts).toMatchObject([{status: 'accepted'}])
      }
      expect(faults).toEqual([])
    },
  )
})
