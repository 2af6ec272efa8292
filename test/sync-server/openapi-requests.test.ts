import fc from 'fast-check'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {serverEnvironment as env} from '../../sync-server/index.ts'
import {deepStride} from '../support/deep.ts'
import {approverDevice} from './support/approver-device.ts'
import {call, headersOf} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {declared} from './support/declared.ts'
import {pin, testDevice} from './support/device.ts'
import {type Asking, type Draft, draftsOf} from './support/document-requests.ts'
import {ana, furnishedServer} from './support/furnished-server.ts'
import {type Sent, sent, spoiled} from './support/spoil.ts'
import {storyOf} from './support/story-of.ts'

const {askings, document} = declared
const database = testDatabase()
let furnished: Awaited<ReturnType<typeof furnishedServer>>
beforeAll(async () => {
  furnished = await furnishedServer(database)
})
afterAll(() => furnished.close())

/** How many times as many requests as in `npm test`; another seed takes others. */
const times = deepStride === null ? 1 : Math.ceil(100 / deepStride)
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
      const allowed = drafts.map(draft => sent(asking, draft))
      await fc.assert(fc.asyncProperty(allowed, expectSound), {numRuns: 3 * times, seed})
      await fc.assert(fc.asyncProperty(spoiled(asking, drafts), expectSound), {numRuns: 10 * times, seed})
    },
    300_000 * times,
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
    ['neither session nor subject', '/v1/erasures', {session: 1}, 'body.session: expected a string'],
    ['a change of no kind', '/v1/memory/items/:memory/change', {do: 'x'}, 'body.do: expected "accept"'],
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
