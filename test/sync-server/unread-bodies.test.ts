import {once} from 'node:events'
import {Agent, request as httpRequest} from 'node:http'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {serveNode} from '../../sync-server/node.ts'
import {headersOf} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers} from './support/desk-server.ts'

const servers = deskServers(testDatabase())
let host: Awaited<ReturnType<typeof serveNode>>
beforeAll(async () => {
  host = await serveNode(servers.server(), {port: 0})
})
afterAll(() => host.close())

const who = {tenant: 'unread', subject: 'ana'}
const agent = new Agent({keepAlive: true, maxSockets: 1})
afterAll(() => agent.destroy())

async function ask(path: string, body: Buffer | null, headers: Record<string, string> = headersOf(who)) {
  const {hostname, port} = new URL(host.url)
  const method = body ? 'POST' : 'GET'
  const sent = httpRequest({hostname, port, path, method, agent, headers})
  const answered = once(sent, 'response')
  // The server may end the connection while the rest is being sent.
  sent.on('error', () => undefined)
  sent.end(body ?? undefined)
  const [answer] = await answered
  for await (const _ of answer);
  return {status: answer.statusCode as number, connection: answer.headers.connection as string | undefined}
}

const large = Buffer.alloc(20 * 1024 * 1024, 'x')
const path = '/v1/erasures'

test.for([
  ['too large, of declared length', 413, {'content-length': String(large.length)}],
  ['too large, in chunks', 413, {'transfer-encoding': 'chunked'}],
  ['of no known caller', 401, {'content-length': String(large.length), authorization: ''}],
] as const)(
  'a large body that is not read ends the connection, and the next request works: %s',
  async ([, status, more]) => {
    expect(await ask(path, large, {...headersOf(who), ...more})).toEqual({status, connection: 'close'})
    expect((await ask('/v1/sessions', null)).status).toBe(200)
  },
)

test('a small body that is not read leaves the connection open', async () => {
  const answer = await ask(path, Buffer.from('{}'), {...headersOf(who), authorization: ''})
  expect(answer).toEqual({status: 401, connection: 'keep-alive'})
})
