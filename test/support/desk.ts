import type {PGlite} from '@electric-sql/pglite'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {type CuttableLink, type HttpLinkOptions, httpLink} from '../../runtime/sync/http-link.ts'
import {
  createSyncServer,
  defineOperation,
  type FactSource,
  issueToken,
  jwtAuth,
  openPgStore,
  pgliteSql,
  type Store,
  type SyncServer,
  type SyncServerOptions,
} from '../../sync-server/index.ts'
import {underContract} from '../sync-server/support/contract.ts'

/** A small refund desk for tests: real server, real store, a payment table that counts. */
export const lookupOrder = defineTool({
  name: 'lookupOrder',
  description: 'Read one order.',
  effect: 'read',
  input: z.strictObject({orderId: z.string()}),
})
export const saveNote = defineTool({
  name: 'saveNote',
  description: 'Write a note into the database of this device and into the draft.',
  effect: 'local',
  input: z.strictObject({text: z.string()}),
})
export const refundOrder = defineTool({
  name: 'refundOrder',
  description: 'Refund one order.',
  input: z.strictObject({orderId: z.string(), cents: z.int().positive()}),
})
export const desk = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions: 'You work at a refund desk.',
  tools: [lookupOrder, saveNote, refundOrder],
})

export type Payment = {operation: string; orderId: string; cents: number}

export type TestServer = {
  readonly server: SyncServer
  db: PGlite
  payments: Payment[]
  orders: Map<string, {cents: number; version: number}>
  token(subject: string, roles?: string[], tenant?: string): Promise<string>
  link(subject: string, options?: {roles?: string[]; faults?: LinkFaults}): Promise<CuttableLink>
  /** As `link`, with tokens from elsewhere. */
  linkWith(token: () => Promise<string>, options?: Partial<HttpLinkOptions> & {faults?: LinkFaults}): CuttableLink
  /** The server's process ends and another starts on the same database. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** Faults of the way between device and server; each hook may throw. */
export type LinkFaults = {
  before?: (method: string, path: string) => void | Promise<void>
  after?: (method: string, path: string, response: Response) => void | Promise<void>
  /** The request reaches the server twice; the second answer is the one that comes back. */
  twice?: (method: string, path: string) => boolean
  /** Answers in the server's place, which is not asked then. */
  instead?: (method: string, path: string) => Response | null | Promise<Response | null>
  /** Another answer arrives than was sent. */
  answer?: (method: string, path: string, response: Response) => Response
}

const secret = 'a secret that only these tests know, long enough'
const jwt = {secret, issuer: 'holdfast-test', audience: 'holdfast-test'}

/** What a test wants otherwise; `store` wraps that of the first process only. */
export type TestServerOptions = Partial<Omit<SyncServerOptions, 'store'>> & {store?: (store: Store) => Store}

/** Refunds over 5,000 cents need an approver; a refund pays into `payments`, keyed by operation. */
export async function openTestServer({store: wrap, ...options}: TestServerOptions = {}): Promise<TestServer> {
  const database = await openNodeDatabase({dataDir: 'memory://'})
  const payments: Payment[] = []
  const orders = new Map([
    ['A17', {cents: 8900, version: 1}],
    ['B22', {cents: 3200, version: 1}],
  ])
  const facts: FactSource = {
    read: async key => {
      const order = orders.get(key.replace('order/', ''))
      return order ? {value: {cents: order.cents}, version: String(order.version)} : null
    },
  }
  const store = await openPgStore(pgliteSql(database.db))
  const parts: SyncServerOptions = {
    // As many erasures as tests; their files are rewritten at each sweep.
    erasure: {rewriteEveryMs: 0},
    store,
    authenticate: jwtAuth(jwt),
    facts,
    operations: {
      refundOrder: defineOperation({
        tool: refundOrder,
        authorise: ({input}) =>
          input.cents > 5000
            ? {approval: {role: 'approver', reason: `Refund of ${input.cents} cents`, expiresInMs: 3_600_000}}
            : {allow: 'within the limit of 5,000 cents'},
        recheck: ({changed}) => (changed.length > 0 ? {stale: 'The order has changed since.'} : {ok: true}),
        execute: async ({operation, input}) => {
          payments.push({operation, ...input})
          return {receipt: `paid-${payments.length}`, cents: input.cents}
        },
        reconcile: async ({operation}) => {
          const paid = payments.find(payment => payment.operation === operation)
          return paid ? {executed: {receipt: 'found', cents: paid.cents}} : {notExecuted: 'no such payment'}
        },
      }),
    },
    ...options,
  }
  let server = underContract(createSyncServer({...parts, store: wrap ? wrap(store) : store}))
  await server.start()
  const token: TestServer['token'] = (subject, roles = [], tenant = 'shop') =>
    issueToken({...jwt, tenant, subject, roles})
  const linkWith: TestServer['linkWith'] = (bearer, {faults = {}, ...options} = {}) =>
    httpLink({url: 'http://desk.test', token: bearer, fetch: inProcess(() => server, faults), ...options})
  return {
    get server() {
      return server
    },
    restart: async () => {
      await server.close()
      server = underContract(createSyncServer(parts))
      await server.start()
    },
    linkWith,
    db: database.db,
    payments,
    orders,
    token,
    link: async (subject, {roles = [], faults = {}} = {}) => {
      const bearer = await token(subject, roles)
      return linkWith(async () => bearer, {faults})
    },
    close: async () => {
      await server.close()
      await database.close()
    },
  }
}

/** fetch that reaches the server in this process, through the faults of a test. */
function inProcess(server: () => SyncServer, faults: LinkFaults): typeof fetch {
  return async (input, init) => {
    const request = new Request(input instanceof URL ? input.href : (input as string), init)
    const path = new URL(request.url).pathname
    await faults.before?.(request.method, path)
    request.signal.throwIfAborted()
    const instead = await faults.instead?.(request.method, path)
    if (instead) return instead
    if (faults.twice?.(request.method, path)) await server().fetch(request.clone())
    const response = await server().fetch(request)
    await faults.after?.(request.method, path, response)
    return faults.answer?.(request.method, path, response) ?? response
  }
}

export function networkDown(): never {
  throw new TypeError('fetch failed')
}

export const deskTools = {
  lookupOrder: async (
    {orderId}: {orderId: string},
    {facts}: {facts: {read(key: string): Promise<{value: unknown; source: string} | null>}},
  ) => {
    const order = await facts.read(`order/${orderId}`)
    if (!order) throw new HoldfastError('not_found', `there is no order ${orderId}`)
    return {order: order.value, source: order.source} as never
  },
  saveNote: async (
    {text}: {text: string},
    {
      sql,
      document,
    }: {
      sql<Row>(query: string, params?: unknown[]): Promise<Row[]>
      document: {write(name: string, text: string): Promise<void>}
    },
  ) => {
    await sql('create table if not exists notes (text text)')
    await sql('insert into notes (text) values ($1)', [text])
    await document.write('draft', text)
    return {saved: true}
  },
}
