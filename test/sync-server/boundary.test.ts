import {SignJWT} from 'jose'
import {beforeAll, describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {
  createSyncServer,
  serverEnvironment as env,
  issueToken,
  jwtAuth,
  type SyncServer,
} from '../../sync-server/index.ts'
import {headersOf, trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const secret = 'a secret of at least thirty-two bytes'
const issue = {secret, issuer: 'https://desk.example', audience: 'holdfast'}
const claims = {...issue, tenant: 'acme', subject: 'ana'}
const faults: unknown[] = []
let server: SyncServer
let trusting: SyncServer

beforeAll(() => {
  const facts = {
    read: async (key: string) => {
      if (key === 'broken') throw new Error('password=hunter2')
      return key === 'order/A17 ü' ? {value: {state: 'shipped'}, version: 'v1'} : null
    },
  }
  const options = {store: database.store, facts, operations: {}, onFault: (error: unknown) => faults.push(error)}
  server = underContract(
    createSyncServer({...options, authenticate: jwtAuth(issue), cors: {origins: ['https://page.example']}}),
  )
  trusting = underContract(createSyncServer({...options, authenticate: trustingAuth}))
})

const get = (authorization: string, path = '/v1/sessions') => server.app.request(path, {headers: {authorization}})
const codeOf = async (response: Response) => {
  const {error} = await response.json()
  return [response.status, error.code]
}
const signed = (over: Record<string, unknown>, key = secret) =>
  new SignJWT({tenant: 'acme', roles: [], ...over})
    .setProtectedHeader({alg: 'HS256'})
    .setSubject('ana')
    .setIssuer(claims.issuer)
    .setAudience(claims.audience)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(key))

describe('tokens', () => {
  test('a token that the host issued opens the door', async () => {
    expect((await get(`Bearer ${await issueToken(claims)}`)).status).toBe(200)
  })

  test('[SYNC-4] an expired token is told apart, so that the device asks for a new one and not for a login', async () => {
    const token = await issueToken({...claims, expiresInSeconds: -60})
    expect(await codeOf(await get(`Bearer ${token}`))).toEqual([401, 'token_expired'])
  })

  test.each([
    ['no header', async () => ''],
    ['another scheme', async () => 'Basic YTpi'],
    ['no token', async () => 'Bearer '],
    ['nonsense', async () => 'Bearer nonsense'],
    ['another key', async () => `Bearer ${await signed({}, `${secret}!`)}`],
    ['another issuer', async () => `Bearer ${await issueToken({...claims, issuer: 'https://evil.example'})}`],
    ['another audience', async () => `Bearer ${await issueToken({...claims, audience: 'else'})}`],
    ['no tenant', async () => `Bearer ${await signed({tenant: undefined})}`],
    ['a tenant with a NUL', async () => `Bearer ${await signed({tenant: 'a\0'})}`],
    ['roles that are no list', async () => `Bearer ${await signed({roles: 'lead'})}`],
    [
      'no algorithm',
      async () => `Bearer ${btoa('{"alg":"none"}')}.${btoa('{"sub":"ana","tenant":"acme","exp":9999999999}')}.`,
    ],
  ])('[ID-4] %s is not let in and not echoed', async (_, header) => {
    const authorization = await header()
    const response = await get(authorization)
    const text = await response.clone().text()
    expect(await codeOf(response)).toEqual([401, 'unauthenticated'])
    const token = authorization.split(' ')[1]
    if (token) expect(text).not.toContain(token)
  })

  test.each([
    ['issuer', undefined],
    ['issuer', ''],
    ['audience', undefined],
    ['audience', 42],
    ['secret', new Date(0)],
  ])('[ID-4] jwtAuth is refused with %s %s, which would take tokens of other services', (name, value) => {
    expect(() => jwtAuth({...issue, [name]: value} as never)).toThrow(
      expect.objectContaining({code: 'misconfigured', message: expect.stringContaining(name)}),
    )
  })

  test('a secret too short to be one is a misconfiguration', () => {
    expect(() => jwtAuth({...issue, secret: 'short'})).toThrow(HoldfastError)
  })
})

describe('bad input', () => {
  const who = {tenant: 'limits', subject: 'ana'}
  const post = (path: string, body: string) =>
    trusting.app.request(path, {method: 'POST', headers: headersOf(who), body})
  const events = `/v1/sessions/${env.id('session')}/events`

  test.each(['', '{', 'null', '[]', '{"events":{}}', '{"events":[]}', '{"events":[1],"more":1}'])(
    'the body %j is refused and nothing is stored',
    async body => {
      expect(await codeOf(await post(events, body))).toEqual([400, 'bad_input'])
    },
  )

  test('[SYNC-6] a body over 1 MiB is refused, announced or not', async () => {
    const body = JSON.stringify({events: ['x'.repeat(1024 * 1024)]})
    expect(await codeOf(await post(events, body))).toEqual([413, 'too_large'])
    const stream = new Blob([body]).stream()
    const init = {method: 'POST', headers: headersOf(who), body: stream, duplex: 'half'}
    expect(await codeOf(await trusting.app.request(events, init as RequestInit))).toEqual([413, 'too_large'])
  })

  test('[LOG-5] an event over 256 KiB is refused by itself, the one behind it lands', async () => {
    const device = testDevice(who)
    const big = {...device.post('x'), data: {text: 'x'.repeat(300_000)}}
    const answer = await device.push(trusting, [device.open(), big, device.post('small')])
    expect(answer.verdicts.map(verdict => (verdict.status === 'rejected' ? verdict.error.code : 'accepted'))).toEqual([
      'accepted',
      'too_large',
      'accepted',
    ])
  })

  test('another protocol is told so before anything else', async () => {
    const headers = {...headersOf(who), 'holdfast-protocol': '2'}
    expect(await codeOf(await trusting.app.request('/v1/sessions', {headers}))).toEqual([426, 'version_mismatch'])
  })

  test('a route that does not exist is a plain not found', async () => {
    expect(await codeOf(await get(`Bearer ${await issueToken(claims)}`, '/v1/nothing'))).toEqual([404, 'not_found'])
  })

  test('[VIEW-5] a fault of the application’s code tells the operator, not the caller', async () => {
    const response = await trusting.app.request('/v1/facts/broken', {headers: headersOf(who)})
    const text = await response.clone().text()
    expect(await codeOf(response)).toEqual([500, 'internal'])
    expect(text).not.toContain('hunter2')
    expect(String(faults.at(-1))).toContain('hunter2')
  })
})

describe('answers', () => {
  test('[FACT-1] a fact comes with its version under its encoded key; an unknown one is not found', async () => {
    const headers = headersOf({tenant: 'facts', subject: 'ana'})
    const found = await trusting.app.request(`/v1/facts/${encodeURIComponent('order/A17 ü')}`, {headers})
    expect(await found.json()).toEqual({key: 'order/A17 ü', value: {state: 'shipped'}, version: 'v1'})
    expect(await codeOf(await trusting.app.request('/v1/facts/nothing', {headers}))).toEqual([404, 'not_found'])
  })

  test('the server says that it lives, without a token', async () => {
    expect(await (await server.app.request('/healthz')).json()).toEqual({ok: true})
  })

  test('only the named origins may call from a page, and answers are not kept in caches', async () => {
    const ask = (origin: string) =>
      server.app.request('/v1/sessions', {method: 'OPTIONS', headers: {origin, 'access-control-request-method': 'GET'}})
    expect((await ask('https://page.example')).headers.get('access-control-allow-origin')).toBe('https://page.example')
    expect((await ask('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    const {headers} = await get(`Bearer ${await issueToken(claims)}`)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    // These would bind the host of an application that mounts the server under a path.
    expect(headers.get('strict-transport-security')).toBeNull()
    expect(headers.get('origin-agent-cluster')).toBeNull()
    expect(headers.get('holdfast-protocol')).toBe('1')
  })
})
