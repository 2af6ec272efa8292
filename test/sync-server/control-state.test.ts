import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {type Envelope, readEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import {initialSession} from '../../runtime/protocol/session.ts'
import {serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {call} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {decide, deskServers, inbox, logOf} from './support/desk-server.ts'
import {pin, testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0

const moves = [
  'post',
  'run',
  'small refund',
  'large refund',
  'return',
  'finish',
  'fail',
  'cancel',
  'retry',
  'claim',
  'approve',
  'reject',
  'resend',
  'forge',
] as const
type Move = {what: (typeof moves)[number]; by: 0 | 1}
const move: fc.Arbitrary<Move> = fc.record({what: fc.constantFrom(...moves), by: fc.constantFrom(0, 1)})

/** Two devices of one person do whatever comes to mind, legal or not. */
async function play(server: SyncServer, program: Move[]) {
  const who = {tenant: `fold-${++tenants}`, subject: 'ana', roles: ['lead']}
  const first = testDevice(who)
  const devices = [first, testDevice(who, first.session)] as const
  await first.push(server, [first.open()])
  let latest = first.refund({orderId: 'A1', cents: 1})
  let sent: Envelope[] = []
  const refund = (by: (typeof devices)[number], cents: number) => {
    latest = by.refund({orderId: 'A1', cents})
    return latest.events
  }
  const makers: Record<
    Exclude<Move['what'], 'claim' | 'approve' | 'reject'>,
    (by: (typeof devices)[number]) => Envelope[]
  > = {
    post: by => [by.post('Something else.')],
    run: by => [by.event('run.started', {pin}, by.held(env.id('run')))],
    'small refund': by => refund(by, 5),
    'large refund': by => refund(by, 6000),
    return: by => [by.event('tool.returned', {call: latest.call, outcome: 'ok', output: null}, by.held(latest.run))],
    finish: by => [by.event('run.completed', {outcome: 'finished'}, by.held(latest.run))],
    fail: by => [by.event('run.failed', {code: 'x', message: 'x', retryable: true}, by.held(latest.run))],
    cancel: by => [by.event('run.cancelled', {}, {run: latest.run})],
    retry: by => [by.event('run.retried', {}, {run: latest.run})],
    resend: () => (sent.length > 0 ? sent : [first.post('Nothing to send again.')]),
    forge: by => [{...by.post('x'), kind: 'operation.executed', data: {operation: latest.operation, receipt: 1}}],
  }
  for (const {what, by} of program) {
    const device = devices[by]
    if (what === 'claim') {
      await call(server, who, `/v1/sessions/${first.session}/custody`, {device: device.device, sawEpoch: 1})
    } else if (what === 'approve' || what === 'reject') {
      await server.idle()
      const [item] = await inbox(server, who)
      if (item) await decide(server, who, item.approval, {verdict: what, digest: item.digest})
    } else {
      sent = makers[what](device)
      await device.push(server, sent)
    }
  }
  await server.idle()
  return {who, session: first.session}
}

describe('control state', () => {
  test('[RUN-8] what is stored beside the log is what folding the log gives, whatever was pushed', async () => {
    const server = servers.server()
    await fc.assert(
      fc.asyncProperty(fc.array(move, {minLength: 1, maxLength: 14}), async program => {
        const {who, session} = await play(server, program)
        const events = (await logOf(server, who, session)).map(event => readEvent(event))
        const folded = events.reduce(evolve, initialSession)
        const stored = await database.store.sessions.state(
          {tenant: who.tenant as never, subject: who.subject as never},
          session,
        )
        expect(stored).toEqual(folded)
        expect(events.map(event => event.seq)).toEqual(events.map((_, index) => index + 1))
        await ledgerAgrees(who.tenant, folded)
      }),
      {numRuns: 25},
    )
  })
})

/** The ledger is a fold of the same events, and no operation has paid twice. */
async function ledgerAgrees(tenant: string, {operations}: ReturnType<typeof evolve>) {
  for (const operation of operations) {
    const row = await database.store.ledger.operation({tenant: tenant as never, operation: operation.id})
    expect(row?.status).toBe(operation.status)
    const payments = await servers.desk.payments(operation.id)
    expect(payments).toHaveLength(operation.status === 'executed' ? 1 : 0)
  }
}
