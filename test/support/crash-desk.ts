import type {ModelSource} from '../../runtime/loop/define.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {
  type CrashTest,
  type CrashWorld,
  difference,
  fakeClock,
  type MortalProcess,
  type Outcome,
  openTestDatabase,
  type Scene,
  type TestDatabase,
} from '../../runtime/testing.ts'
import {
  createSyncServer,
  defineOperation,
  issueToken,
  jwtAuth,
  openPgStore,
  pgliteSql,
  type Store,
} from '../../sync-server/index.ts'
import {desk, deskTools, refundOrder} from './desk.ts'

/** Milliseconds that an approver has to decide. */
export const approvalMs = 3_600_000

const jwt = {secret: 'a secret that only these tests know, long enough', issuer: 'crash', audience: 'crash'}
/** Dated by the clock of the runs, which stands in the past: a token from the future is refused. */
const dated = {issuedAt: fakeClock().now() / 1000, expiresInSeconds: 50 * 365 * 86_400}

/** Databases of the desk and of its clerks' devices, opened once for a whole file. */
export async function openCrashDesk() {
  const server = await openTestDatabase()
  const store = await openPgStore(pgliteSql(server.db))
  const restore = await server.snapshot()
  const databases = new Map<string, TestDatabase>()
  for (const device of ['laptop', 'phone']) databases.set(device, await openTestDatabase())
  const token = await issueToken({...jwt, ...dated, tenant: 'shop', subject: 'maya'})
  const approver = await issueToken({...jwt, ...dated, tenant: 'shop', subject: 'theo', roles: ['approver']})

  const world: NonNullable<CrashTest['world']> = async ({environment}): Promise<CrashWorld> => {
    await restore()
    const payments: {operation: string; orderId: string; cents: number}[] = []
    return {
      token,
      startServer: async process => {
        const sync = createSyncServer({
          store: mortalStore(store, process),
          authenticate: jwtAuth(jwt),
          environment,
          facts: {read: async key => (key === 'order/A17' ? {value: {cents: 8900}, version: '1'} : null)},
          operations: {refundOrder: refunds(process, payments)},
          onFault: () => undefined,
        })
        await sync.start()
        return sync
      },
      effects: () => payments.map(({orderId, cents}) => `paid ${cents} for ${orderId}`),
    }
  }
  return {
    world,
    databases,
    /** Decides whatever waits for an approver; once it is decided, deciding it again changes nothing. */
    async decide(scene: Scene, verdict: 'approve' | 'reject') {
      const link = scene.link(approver)
      for (const {approval, digest} of await link.inbox('open')) {
        await link.decide(approval, {verdict, digest}).catch(error => {
          if (!HoldfastError.is(error, 'refused')) throw error
        })
      }
    },
    async close() {
      for (const database of [server, ...databases.values()]) await database.close()
    },
  }
}
export type CrashDesk = Awaited<ReturnType<typeof openCrashDesk>>

/** A clerk's device at the desk, to be crashed everywhere. */
export function deskTest(
  {world, databases}: CrashDesk,
  {model, agent = desk}: {model: ModelSource; agent?: typeof desk},
  scenario: CrashTest['scenario'],
) {
  return {
    agent,
    model,
    tools: deskTools as unknown as CrashTest<typeof desk>['tools'],
    world,
    databases,
    prepare: async (db: TestDatabase['db']) => void (await db.exec('create table if not exists notes (text text)')),
    scenario,
  }
}

/** Refunds over 5,000 cents need an approver; the money is counted outside of any process. */
function refunds(process: MortalProcess, payments: {operation: string; orderId: string; cents: number}[]) {
  return defineOperation({
    tool: refundOrder,
    authorise: ({input}) =>
      input.cents > 5000
        ? {approval: {role: 'approver', reason: `Refund of ${input.cents} cents`, expiresInMs: approvalMs}}
        : {allow: 'within the limit of 5,000 cents'},
    recheck: () => ({ok: true}),
    execute: async ({operation, input}) => {
      process.point('before the payment')
      payments.push({operation, ...input})
      process.point('after the payment')
      return {paid: input.cents}
    },
    reconcile: async ({operation}) => {
      const payment = payments.find(each => each.operation === operation)
      return payment ? {executed: {paid: payment.cents}} : {notExecuted: 'no such payment'}
    },
  })
}

/** Where these scenarios write; everything else that a store does must only be alive. */
const transactions = ['locked', 'record', 'put']

/** The store of a server that can die before and after each of its transactions. */
function mortalStore(store: Store, process: MortalProcess): Store {
  return mortal(store, process, port => (typeof port === 'object' && port ? mortal(port, process, one => one) : port))
}

function mortal<T extends object>(target: T, process: MortalProcess, inside: (value: unknown) => unknown): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name)
      if (typeof value !== 'function') return inside(value)
      return async (...args: unknown[]) => {
        const work = async () => (value as (...given: unknown[]) => unknown).apply(object, args)
        if (transactions.includes(String(name))) return await process.between(String(name), work)
        process.alive()
        return await work()
      }
    },
  })
}

/**
 * What a server's death may change: between its word that an operation starts and the payment nobody can know, so the
 * operation may be found not to have happened and is then reported as failed. Never is anything paid twice, or paid and
 * not told. [OP-3, OP-4]
 */
export function afterServerDeath(undisturbed: Outcome, outcome: Outcome, death: string): string | null {
  const said = JSON.stringify(outcome.sessions[0]?.transcript)
  const [failed = 0, executed] = ['failed', 'executed'].map(status => said.split(`"status":"${status}"`).length - 1)
  if (executed !== outcome.effects.length) return `${executed} operations are told, ${outcome.effects.length} were done`
  if (!failed) return difference(withoutDoubt(undisturbed), withoutDoubt(outcome))
  const doubted = outcome.sessions[0]?.events['operation.uncertain'] ?? 0
  return doubted >= failed ? null : `${failed} operations failed and ${doubted} of them were in doubt, after ${death}`
}

/** The card of an operation keeps saying why it was in doubt, also when it turned out well. */
function withoutDoubt(outcome: Outcome): Outcome {
  const sessions = outcome.sessions.map(session => {
    const {'operation.uncertain': _, ...events} = session.events
    const transcript = JSON.parse(JSON.stringify(session.transcript), (key, value) =>
      key === 'operation' && value ? {...value, reason: null} : value,
    )
    return {...session, events, transcript}
  })
  return {...outcome, sessions}
}
