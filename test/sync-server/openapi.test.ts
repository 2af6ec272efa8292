import {Validator} from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import {Hono} from 'hono'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {createSyncServer, serverEnvironment as env} from '../../sync-server/index.ts'
import {type App, type Env, errorAnswer} from '../../sync-server/routes/http.ts'
import {errorsOf, handle, type Route, route, routesOf} from '../../sync-server/routes/route.ts'
import {approverDevice} from './support/approver-device.ts'
import {call, headersOf, trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {pin, testDevice} from './support/device.ts'
import {type Asking, askingsOf, type Draft, draftsOf} from './support/document-requests.ts'
import {ana, furnishedServer} from './support/furnished-server.ts'
import {type Sent, sent, spoiled} from './support/spoil.ts'
import {storyOf} from './support/story-of.ts'

const database = testDatabase()
let furnished: Awaited<ReturnType<typeof furnishedServer>>
beforeAll(async () => {
  furnished = await furnishedServer(database)
})
afterAll(() => furnished.close())

/** What a server says of itself does not depend on what it stores. */
const bare = createSyncServer({
  store: {} as never,
  authenticate: trustingAuth,
  facts: {read: async () => null},
  operations: {},
  metrics: {authorise: () => true},
})
const document = bare.openApiDocument()
const routes = routesOf(bare.app)
const askings = askingsOf(document)

describe('the document', () => {
  test('is valid OpenAPI 3.1, with every reference in it', async () => {
    const validator = new Validator()
    const {valid, errors} = await validator.validate(structuredClone(document))
    expect([errors ?? [], valid, validator.version]).toEqual([[], true, '3.1'])
    const referred = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)]
    const lacking = referred.filter(([, part, name]) => !Object.hasOwn(Reflect.get(document.components, part!), name!))
    expect(lacking).toEqual([])
    expect(referred.length).toBe([...JSON.stringify(document).matchAll(/"\$ref":/g)].length)
  })

  test('tells every route that the server has, and no other', () => {
    const registered = bare.app.routes.flatMap(({method, path}) => (method === 'ALL' ? [] : [`${method} ${path}`]))
    expect(registered).toEqual(routes.map(({method, path}) => `${method} ${path}`))
    const told = askings.map(({method, path}) => `${method} ${path}`)
    const plain = registered.map(name => name.replace('{.+}', '').replaceAll(/:(\w+)/g, '{$1}'))
    expect(told.sort()).toEqual(plain.sort())
    expect(new Set(routes.map(({name}) => name)).size).toBe(routes.length)
  })

  test.each(askings.map(asking => ({name: `${asking.method} ${asking.path}`, ...asking})))(
    '$name names its parameters, one sentence and every way it may end',
    ({path, operation}) => {
      const inPath = operation.parameters.flatMap(one => ('in' in one && one.in === 'path' ? [one.name] : []))
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
      expect(operation.summary).toMatch(/^[A-Z`].*\.$/)
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['200', '500']))
    },
  )

  test('is small, for what is shared is written once', () => {
    expect(JSON.stringify(document).length).toBeLessThan(160_000)
  })

  test('is served to whoever asks, without a token, and says nothing that depends on who does', async () => {
    const answer = await furnished.server.app.request('/v1/openapi.json')
    expect([answer.status, await answer.json()]).toEqual([200, JSON.parse(JSON.stringify(document))])
  })
})

describe('the contract that every answer in these tests is held to', () => {
  const thing = route({
    name: 'readThing',
    method: 'GET',
    path: '/v1/things/:thing',
    summary: 'A thing.',
    params: {thing: z.string().regex(/^\d+$/)},
    answers: {200: z.strictObject({thing: z.string()})},
    errors: ['not_found'],
  })
  const ask = async (answer: () => unknown, path = '/v1/things/1', declared: Route = thing) => {
    const app: App = new Hono<Env>()
    handle(app, declared, answer as never)
    app.onError((error, c) => errorAnswer(c, error))
    return underContract({app, fetch: app.fetch}).app.request(path)
  }
  const fail = (error: HoldfastError) => () => {
    throw error
  }

  test('lets an answer pass that is as declared', async () => {
    expect((await ask(() => ({thing: '1'}))).status).toBe(200)
    expect((await ask(fail(new HoldfastError('not_found', 'No such thing.')))).status).toBe(404)
    expect((await ask(() => ({}), '/v1/things/x')).status).toBe(400)
  })

  test.each<[string, () => unknown, string]>([
    ['a field of another type', () => ({thing: 1}), 'what it does not declare'],
    ['a field too many', () => ({thing: '1', secret: 'x'}), 'what it does not declare'],
    ['another media type', () => new Response('{"thing":"1"}'), 'expected application/json'],
    ['a code that is not declared', fail(new HoldfastError('conflict', 'No.')), 'does not declare'],
    ['bad input in vague words', fail(new HoldfastError('bad_input', 'Invalid input')), 'vague words'],
    ['an error in another shape', () => Response.json({message: 'No.'}, {status: 404}), 'what it does not declare'],
  ])('finds %s', async (_, answer, words) => {
    await expect(ask(answer)).rejects.toThrow(words)
  })

  test('finds an event of a stream that is not as declared', async () => {
    const data = z.strictObject({n: z.int()})
    const declared = {...thing, answers: {200: {mediaType: 'text/event-stream', description: '', data}}}
    const stream = (body: string) => () => new Response(body, {headers: {'content-type': 'text/event-stream'}})
    await (await ask(stream('data: {"n":1}\n\n'), '/v1/things/1', declared)).text()
    const wrong = await ask(stream('data: {"n":"1"}\n\n'), '/v1/things/1', declared)
    await expect(wrong.text()).rejects.toThrow('what it does not declare')
  })
})

/** Times as many requests as the tests take unless told; another seed takes others. */
const times = Number(process.env.HOLDFAST_FUZZ ?? 1)
const seed = Number(process.env.HOLDFAST_FUZZ_SEED ?? 20261130)

/** Last comes what takes away what the others need. */
const inOrder = askings.toSorted((a, b) => Number(takesAway(a)) - Number(takesAway(b)))
function takesAway({path, method}: Asking): boolean {
  return method === 'POST' && path.startsWith('/v1/erasures')
}

function draftsFor(asking: Asking): fc.Arbitrary<Draft> {
  const drafts = draftsOf(asking, document, furnished.known)
  return asking.operation.operationId === 'pushEvents' ? fc.oneof(drafts, drafts.map(storyOf)) : drafts
}

/** Every row of every table, but for the audit, which keeps refused requests on purpose. */
async function rows(): Promise<string> {
  const tables = await database.sql.query<{name: string}>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'hf_audit' ORDER BY tablename",
  )
  const each = tables.map(
    ({name}) => `SELECT '${name}' AS name, md5(string_agg(t::text, '|' ORDER BY t::text)) AS rows FROM ${name} t`,
  )
  return JSON.stringify(await database.sql.query(each.join(' UNION ALL ')))
}

async function ask({method, address, headers, body}: Sent): Promise<Response> {
  const bodied = body !== undefined && method !== 'GET' && method !== 'HEAD'
  const init = {method, headers: {...headersOf(ana), ...headers}, ...(bodied && {body})}
  const answer = await furnished.server.app.request(address, init)
  // Of the one stream that has no end, the first word is enough.
  if (answer.status === 200 && address.startsWith('/v1/live')) {
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.cancel()
  } else await answer.text()
  await furnished.server.idle()
  return answer
}

async function expectSound(request: Sent): Promise<void> {
  const before = await rows()
  const {status} = await ask(request)
  expect(status, `${request.how}: ${furnished.faults.splice(0).map(String).join()}`).toBeLessThan(500)
  if (status >= 400) expect(await rows(), `${request.how}: refused, and something was stored`).toBe(before)
}

describe('requests made from the document', () => {
  test.each(inOrder.map(asking => ({name: `${asking.method} ${asking.path}`, asking})))(
    '$name is answered without a fault, with an error that helps, and what is refused leaves nothing behind',
    async ({asking}) => {
      const drafts = draftsFor(asking)
      const declared = drafts.map(draft => sent(asking, draft))
      await fc.assert(fc.asyncProperty(declared, expectSound), {numRuns: 3 * times, seed})
      await fc.assert(fc.asyncProperty(spoiled(asking, drafts), expectSound), {numRuns: 10 * times, seed})
    },
    60_000 * times,
  )
})

describe('requests that once were answered with a fault or in vague words', () => {
  const refused = async (path: string, body: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const init = body === undefined ? {} : {method: 'POST', body: text}
    const answer = await furnished.server.app.request(path, {headers: headersOf(ana), ...init})
    const {error} = await answer.json()
    return [answer.status, error.code, error.message]
  }
  const nul = 'expected well-formed text without NUL'
  const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
  const tools = {tools: [], toolsHash: 'a'.repeat(64)}
  const levels = 'body: expected at most 1000 levels of nesting'

  test.each<[string, string, unknown, string]>([
    ['a version with a NUL', '/v1/agents/desk/versions', {version: 'a\0', ...tools}, `body.version: ${nul}`],
    ['a version with half a pair', '/v1/agents/desk/active', {version: '\ud800'}, `body.version: ${nul}`],
    ['a key of a fact with a NUL', '/v1/facts/%00', undefined, `key: ${nul}`],
    ['a model with a NUL', '/v1/models/%00/stream', {prompt: [{role: 'user', content: 'x'}]}, `name: ${nul}`],
    ['a prompt nested too deep', '/v1/models/desk/stream', `{"prompt":[{"role":"user","x":${deep}}]}`, levels],
    ['nesting in a text that is no JSON', '/v1/memory/recall', '[{'.repeat(600), levels],
    ['brackets within a text, which nest nothing', '/v1/memory/recall', {no: '[\\"'.repeat(2000)}, 'body.no: expected'],
    ['neither session nor subject', '/v1/erasures', {session: 1}, 'body.session: Invalid input: expected string'],
    ['a change of no kind', '/v1/memory/items/:memory/change', {do: 'x'}, "body.do: expected one of 'accept'"],
    [
      'a field too many',
      '/v1/delegations',
      {role: 'lead', to: 'max', until: 1, x: 1},
      'body.x: expected no such field',
    ],
    ['a cursor of no audit', '/v1/audit?after=x', undefined, 'after: expected the id of an audit entry'],
  ])('%s is told by its field', async (_, path, body, message) => {
    const [status, code, said] = await refused(path.replace(':memory', env.id('memory')), body)
    expect([status, code]).toEqual([400, 'bad_input'])
    expect(said).toContain(message)
  })

  test('[ID-4] a subject to erase whose name no database can look up is no fault of the server', async () => {
    const [status, code, message] = await refused('/v1/erasures', {subject: 'a\0b'})
    expect([status, code]).toEqual([400, 'bad_input'])
    expect(message).toContain('body.subject: expected a subject id of well-formed text without NUL')
  })

  test('[APP-4] a signature that is no whole base64 is refused like any other that does not fit', async () => {
    const device = await approverDevice()
    const key = await device.register(furnished.server, ana)
    const approval = env.id('approval')
    const {intent} = await device.decide(key, {approval, digest: '0'.repeat(64)})
    const said = await refused(`/v1/approvals/${approval}/redemption`, {intent, signature: 'AAAAA'})
    expect(said).toEqual([400, 'bad_input', 'body.signature: expected whole base64, with its padding'])
  })

  test.each([1.5, -1, 1e300])(
    '[LOG-2] the clock of a device may say %d, and its run is counted all the same',
    async at => {
      const device = testDevice(ana)
      const run = env.id('run')
      const [opened, started] = [device.open(), device.event('run.started', {pin}, device.held(run))].map(one => ({
        ...one,
      }))
      const {verdicts} = await device.push(furnished.server, [opened, {...started, at}])
      expect(verdicts.map(({status}) => status)).toEqual(['accepted', 'accepted'])
      expect((await call(furnished.server, ana, `/v1/runs/${run}/passport`)).status).toBe(200)
    },
  )
})

test('every route may end by the codes that its kind of request can meet', () => {
  const codes = (name: string) => errorsOf(routes.find(one => one.name === name) as Route)
  expect(codes('isAlive')).toEqual(['internal'])
  expect(codes('listAgents')).toEqual([
    'unauthenticated',
    'token_expired',
    'rate_limited',
    'version_mismatch',
    'internal',
  ])
  expect(codes('claimCustody')).toEqual(expect.arrayContaining(['bad_input', 'too_large', 'stale_epoch', 'erased']))
})
