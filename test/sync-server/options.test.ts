import {beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineTool} from '../../runtime/loop/define.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {
  createSyncServer,
  defineOperation,
  issueToken,
  jwtAuth,
  openPgStore,
  pgliteSql,
  reopeningSql,
  type Store,
} from '../../sync-server/index.ts'
import {jsonLines, serveNode} from '../../sync-server/node.ts'
import {openPostgres, openPostgresBus, pgSql} from '../../sync-server/postgres.ts'
import {call, trustingAuth} from './support/caller.ts'

let store: Store
beforeAll(async () => {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  store = await openPgStore(pgliteSql(db))
  return close
})

const refund = defineTool({name: 'refund', description: 'Refund.', input: z.object({cents: z.int()})})
const operation = {
  tool: refund,
  authorise: () => ({allow: 'Yes.'}),
  recheck: () => ({ok: true as const}),
  execute: async () => null,
  verdictRole: 'lead',
}
const claims = {secret: 'a secret of more than thirty-two bytes', issuer: 'a', audience: 'b'}
const server = (options: object) => createSyncServer({store, authenticate: trustingAuth, ...options} as never)
const host = (options: unknown) => serveNode(server({}), options as never)

/** What is called, and the parts that its one message has to name. */
type Row = [string, () => unknown, string[]]

const ofTheServer: Row[] = [
  ['no options', () => createSyncServer(undefined as never), ['createSyncServer: expected an object, got undefined']],
  [
    'no authenticate and no store',
    () => createSyncServer({} as never),
    ['store: expected a store, as openPgStore resolves to it, got undefined', 'authenticate: expected a function'],
  ],
  [
    'a promise of a store',
    () =>
      createSyncServer({store: openPgStore(undefined as never).catch(() => {}) as never, authenticate: trustingAuth}),
    ['store: expected a store, as openPgStore resolves to it, got a Promise'],
  ],
  ['a misspelt name', () => server({limit: {}}), ['limit: expected no such field, did you mean "limits"?']],
  [
    'a misspelt limit',
    () => server({limits: {bodyByte: 1, rates: {subjects: 1}}}),
    ['limits.bodyByte: expected no such field, did you mean "bodyBytes"?', 'limits.rates.subjects', '"subject"?'],
  ],
  [
    'a name that is near to none',
    () => server({['x'.repeat(200)]: 1}),
    [`: ${'x'.repeat(80)}: expected no such field`],
  ],
  ['NaN bytes of a body', () => server({limits: {bodyBytes: Number.NaN}}), ['limits.bodyBytes: expected', 'got NaN']],
  ['endless bodies', () => server({limits: {bodies: {subject: Infinity}}}), ['limits.bodies.subject:', 'got Infinity']],
  ['a negative room', () => server({limits: {blobs: {tenantBytes: -1}}}), ['limits.blobs.tenantBytes:', 'got -1']],
  ['half a stream', () => server({limits: {streams: {tenant: 0.5}}}), ['expected a whole number, got 0.5']],
  [
    'a sweep without a pause',
    () => server({limits: {sweepMs: 0}}),
    ['limits.sweepMs: expected a number of at least 1'],
  ],
  ['a pause too long for a timer', () => server({limits: {heartbeatMs: 2 ** 31}}), ['limits.heartbeatMs:']],
  ['null as rates', () => server({limits: {rates: null}}), ['limits.rates: expected an object, got null']],
  [
    'a rate without a burst',
    () => server({limits: {rates: {subject: {perSecond: 1}}}}),
    ['limits.rates.subject.burst'],
  ],
  ['a rate of nothing', () => server({limits: {rates: {tenant: {perSecond: 0, burst: 1}}}}), ['tenant.perSecond:']],
  ['parts without an end', () => server({limits: {models: {parts: Infinity}}}), ['limits.models.parts:']],
  [
    'words for a yes',
    () => server({sharesDatabase: 'false'}),
    ['sharesDatabase: expected true or false, got a string'],
  ],
  ['a role of a number', () => server({roles: {operator: 42}}), ['roles.operator: expected text', 'got 42']],
  ['metrics for nobody', () => server({metrics: {}}), ['metrics.authorise: expected a function']],
  [
    'an origin with a path',
    () => server({cors: {origins: ['https://shop.example/']}}),
    ['cors.origins.0: expected an origin'],
  ],
  ['no origins', () => server({cors: {}}), ['cors.origins: expected a list, got undefined']],
  [
    'a number for a log',
    () => server({log: 42, onFault: 'x'}),
    ['log: expected a function, got 42', 'onFault: expected'],
  ],
  ['budgets that are none', () => server({budgets: {}}), ['budgets: expected a list, got an object']],
  ['an endless budget', () => server({budgets: [{windowMs: 1, cost: Infinity}]}), ['budgets.0.cost:', 'Infinity']],
  ['a budget without a bound', () => server({budgets: [{windowMs: 1}]}), ['budgets.0: expected tokens or cost']],
  ['the name of a model', () => server({models: {desk: 'gpt'}}), ['models.desk: expected a language model']],
  ['facts without read', () => server({facts: {}}), ['facts.read: expected a function']],
  ['an operation of nothing', () => server({operations: {refund: {}}}), ['operations.refund.tool', 'refund.execute']],
  ['retention of a wrong layer', () => server({retention: {transcript: {days: 1}}}), ['did you mean "transcripts"?']],
  ['retention of no days', () => server({retention: {audit: {days: Number.NaN}}}), ['retention.audit.days', 'got NaN']],
  ['an erasure that never is', () => server({erasure: {filesGoneAfterMs: -1}}), ['erasure.filesGoneAfterMs:']],
  ['a layer without its functions', () => server({layers: [{name: 'notes'}]}), ['layers.0.erase', 'layers.0.records']],
  ['a bus of nothing', () => server({bus: {}}), ['bus: expected a bus with publish and subscribe']],
  ['a clock of nothing', () => server({environment: {}}), ['environment: expected an environment with now']],
  ['webhooks beside a misspelt name', () => server({notify: {webhook: []}}), ['notify.webhooks', 'notify.webhook:']],
  ['many wrong names', () => server(Object.fromEntries([...'abcdefghijkl'].map(n => [n, 1]))), ['and 4 more']],
]

const ofOthers: Row[] = [
  ['no operation', () => defineOperation(undefined as never), ['defineOperation: expected an object, got undefined']],
  [
    'a misspelt function of an operation',
    () => defineOperation({...operation, reconsile: () => null} as never),
    ['reconsile: expected no such field, did you mean "reconcile"?'],
  ],
  [
    'a limit of no number',
    () => defineOperation({...operation, limits: [{kind: 'rate', starts: Number.NaN, inMs: 1}]}),
    ['defineOperation: limits.0.starts', 'got NaN'],
  ],
  ['no options of jwtAuth', () => jwtAuth(undefined as never), ['jwtAuth: expected an object, got undefined']],
  [
    'everything wrong with jwtAuth at once',
    () => jwtAuth({secret: 'short', issuer: '', audence: 'b'} as never),
    [
      'issuer: expected text that is not empty, got an empty string',
      'secret: expected text of at least 32 bytes, got 5 bytes',
      'audence: expected no such field, did you mean "audience"?',
    ],
  ],
  ['an endless tolerance', () => jwtAuth({...claims, clockToleranceSeconds: Infinity}), ['clockToleranceSeconds:']],
  ['a secret beside keys', () => jwtAuth({...claims, jwks: {keys: []}}), ['secret: expected no such field']],
  [
    'an address as text',
    () => jwtAuth({issuer: 'a', audience: 'b', jwks: 'https://x' as never}),
    ['jwks: expected a URL'],
  ],
  [
    'a token for nobody',
    () => issueToken({...claims, tenant: '', subject: 42 as never}),
    ['tenant: expected', 'subject:'],
  ],
  ['no port', () => host({}), ['serveNode: port: expected a whole number from 0 to 65535, got undefined']],
  ['a port of text', () => host({port: '8787x'}), ['port: expected a whole number from 0 to 65535, got a string']],
  [
    'a negative port',
    () => host({port: -1, hots: 'x'}),
    ['port: expected', 'hots: expected no such field, did you mean'],
  ],
  ['no server', () => serveNode({} as never, {port: 0}), ['serveNode: server: expected a server, as createSyncServer']],
  ['no database', () => pgliteSql(undefined as never), ['pgliteSql: expected an opened PGlite, got undefined']],
  ['no Sql', () => openPgStore('data' as never), ['openPgStore: expected a Sql, as pgliteSql', 'got a string']],
  [
    'a PGlite in place of its Sql',
    async () => openPgStore((await openNodeDatabase({dataDir: 'memory://'})).db as never),
    ['openPgStore: expected a Sql, got a PGlite: pass pgliteSql(db)'],
  ],
  ['no address of a Postgres', () => openPostgres({} as never), ['url: expected an address that begins with']],
  [
    'a pool of no size',
    () => openPostgres({url: 'postgres://x', connections: Number.NaN}),
    ['connections:', 'got NaN'],
  ],
  ['a bus of no beat', () => openPostgresBus({url: 'postgres://x', heartbeatMs: 0}), ['openPostgresBus: heartbeatMs:']],
  ['no pool', () => pgSql({} as never), ['pgSql: expected a Pool of pg']],
  [
    'SQL as a timeout',
    () => pgSql({query: async () => ({rows: []}), connect: () => Promise.reject()}, {lockMs: '1; DROP' as never}),
    ['pgSql: timeouts: lockMs: expected'],
  ],
  ['no way to open', () => reopeningSql(undefined as never), ['reopeningSql: open: expected a function']],
  ['no stream of lines', () => jsonLines(42 as never), ['jsonLines: expected a stream with write, got 42']],
]

async function refusalOf(call: () => unknown): Promise<HoldfastError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
  throw new Error('It was accepted.')
}

describe('a wrong option is refused before anything is done, by every name that is wrong', () => {
  test.each([...ofTheServer, ...ofOthers])('%s', async (_, attempt, parts) => {
    const {code, message} = await refusalOf(attempt)
    expect(code).toBe('misconfigured')
    for (const part of parts) expect(message).toContain(part)
    expect(message.length).toBeLessThan(2000)
  })

  test('options whose getter throws are refused as options', async () => {
    const options = {
      get store(): Store {
        throw new Error('not yet')
      },
      authenticate: trustingAuth,
    }
    expect((await refusalOf(() => createSyncServer(options))).message).toContain('reading them threw an error')
  })
})

test('what was given is used as it is, with its identity', async () => {
  class Facts {
    readonly asked: unknown[] = []
    async read(key: string) {
      this.asked.push(key)
      return null
    }
  }
  const facts = new Facts()
  const definition = {...operation, execute: async () => null}
  expect(defineOperation(definition)).toBe(definition)
  const served = createSyncServer({store, authenticate: trustingAuth, facts, operations: {refund: definition}})
  await call(served, {tenant: 'acme', subject: 'ana'}, '/v1/facts/order/A1')
  expect(facts.asked).toEqual(['order/A1'])
  await served.close()
})

test('a server without facts and operations serves, and knows no fact', async () => {
  const bare = createSyncServer({store, authenticate: trustingAuth})
  const answer = await call(bare, {tenant: 'acme', subject: 'ana'}, '/v1/facts/order/A1')
  expect(answer.status).toBe(404)
  await bare.close()
})
