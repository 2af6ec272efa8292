import {Validator} from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {createSyncServer} from '../../sync-server/index.ts'
import {headersOf, trustingAuth} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {type Asking, askingsOf, draftsOf} from './support/document-requests.ts'
import {ana, furnishedServer} from './support/furnished-server.ts'
import {type Sent, sent, spoiled} from './support/spoil.ts'

const database = testDatabase()
let furnished: Awaited<ReturnType<typeof furnishedServer>>
beforeAll(async () => {
  furnished = await furnishedServer(database)
})
afterAll(() => furnished.close())

/** The document does not depend on what is stored. */
const document = createSyncServer({
  store: {} as never,
  authenticate: trustingAuth,
  facts: {read: async () => null},
  operations: {},
  metrics: {authorise: () => true},
}).openApiDocument()
const askings = askingsOf(document)

/** Times as many requests of each kind and route as the tests take unless told. */
const times = Number(process.env.HOLDFAST_FUZZ ?? 1)
const seed = Number(process.env.HOLDFAST_FUZZ_SEED ?? 20261130)
/** Last comes what takes away what the others need. */
const inOrder = askings.toSorted((a, b) => Number(takesAway(a)) - Number(takesAway(b)))
function takesAway({path, method}: Asking): boolean {
  return method === 'POST' && path.startsWith('/v1/erasures')
}

/** Every row of every table, but for the audit, which keeps refused requests on purpose. */
async function rows(): Promise<string> {
  const tables = await database.sql.query<{name: string}>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('hf_audit')",
  )
  const digests = tables.map(
    ({name}) =>
      `SELECT '${name}' AS name, md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), '')) AS rows FROM ${name} t`,
  )
  return JSON.stringify(await database.sql.query(`${digests.join(' UNION ALL ')} ORDER BY name`))
}

async function ask({method, address, headers, body}: Sent): Promise<Response> {
  const init = {method, headers: {...headersOf(ana), ...headers}, ...(body !== undefined && {body})}
  if (method === 'GET' || method === 'HEAD') delete init.body
  return furnished.server.app.request(address, init)
}

/** Reads to the end, or as long as a stream has something to say at once. */
async function readAway(answer: Response): Promise<void> {
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.cancel()
  } else await answer.text()
}

async function expectSound(request: Sent): Promise<void> {
  const before = await rows()
  const answer = await ask(request)
  await readAway(answer)
  expect(answer.status, `${request.how}: ${furnished.faults.splice(0).map(String).join()}`).toBeLessThan(500)
  await furnished.server.idle()
  if (answer.status >= 400) expect(await rows(), `${request.how}: refused, and something was stored`).toBe(before)
}

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    const result = await validator.validate(structuredClone(document))
    expect(result.errors ?? []).toEqual([])
    expect([result.valid, validator.version]).toEqual([true, '3.1'])
  })
})

describe('requests', () => {
  test.each(inOrder.map(asking => ({name: `${asking.method} ${asking.path}`, asking})))(
    '$name is never answered with a fault, and what it refuses leaves nothing behind',
    async ({asking}) => {
      const drafts = draftsOf(asking, document, furnished.known)
      await fc.assert(
        fc.asyncProperty(
          drafts.map(draft => sent(asking, draft)),
          expectSound,
        ),
        {numRuns: 5 * times, seed},
      )
      await fc.assert(fc.asyncProperty(spoiled(asking, drafts), expectSound), {numRuns: 15 * times, seed})
    },
  )
})
