import {describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {personHeader, personHeaderOf} from '../../runtime/protocol/person.ts'
import type {Authenticate} from '../../sync-server/principal.ts'
import {headersOf, trustingAuth, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const servers = deskServers(testDatabase())
const ana: Who = {tenant: 'acme', subject: 'ana'}
const ben: Who = {tenant: 'acme', subject: 'ben'}
const principal = {roles: [], expiresAt: Date.now() + 3_600_000}

async function codeOf(answer: Response): Promise<[number, string | undefined]> {
  return [answer.status, (await answer.json()).error?.code]
}

describe('[ID-6] GET /v1/me', () => {
  const byCookie: Authenticate = async request => {
    const subject = /(?:^|; )sid=(\w+)/.exec(request.headers.get('cookie') ?? '')?.[1]
    if (!subject) throw new HoldfastError('unauthenticated', 'no cookie')
    return {...principal, tenant: 'acme', subject}
  }
  const byOpaqueToken: Authenticate = async request => {
    if (request.headers.get('authorization') !== 'Bearer opaque-1') throw new HoldfastError('unauthenticated', 'no')
    return {...principal, tenant: 'acme', subject: 'Ана/../ ?#%'}
  }
  const ways: [string, Authenticate, Record<string, string>, string][] = [
    ['a token', trustingAuth, headersOf(ana), 'ana'],
    ['a cookie', byCookie, {cookie: 'theme=dark; sid=ana'}, 'ana'],
    [
      'an opaque token of a subject with odd characters',
      byOpaqueToken,
      {authorization: 'Bearer opaque-1'},
      'Ана/../ ?#%',
    ],
  ]
  test.each(ways)('names whoever %s belongs to', async (_, authenticate, headers, subject) => {
    const answer = await servers.server({authenticate}).app.request('/v1/me', {headers})
    expect([answer.status, await answer.json()]).toEqual([200, {tenant: 'acme', subject}])
  })

  test('is refused without either', async () => {
    const answer = await servers.server({authenticate: byCookie}).app.request('/v1/me')
    expect(await codeOf(answer)).toEqual([401, 'unauthenticated'])
  })

  test('a request by cookie from another site changes nothing unless it is one of our client', async () => {
    const {app} = servers.server({authenticate: byCookie})
    const send = (headers: Record<string, string>) =>
      app.request('/v1/facts', {method: 'POST', body: '{"keys":[]}', headers: {cookie: 'sid=ana', ...headers}})
    expect(await codeOf(await send({'sec-fetch-site': 'cross-site'}))).toEqual([401, 'unauthenticated'])
    expect((await send({'sec-fetch-site': 'cross-site', 'holdfast-protocol': '1'})).status).toBe(400)
    expect((await send({'sec-fetch-site': 'same-origin'})).status).toBe(400)
  })
})

describe('[ID-6] an `authenticate` of the application', () => {
  const ask = (authenticate: Authenticate, onFault?: (error: unknown) => void) =>
    servers.server({authenticate, ...(onFault && {onFault})}).app.request('/v1/me')

  test('needs neither promises nor dates nor branded ids', async () => {
    const answer = await ask(() => ({tenant: 'acme', subject: 'ana', roles: []}))
    expect([answer.status, await answer.json()]).toEqual([200, {tenant: 'acme', subject: 'ana'}])
  })

  test('that fails is no verdict on the caller: 503, tried again, and the operator is told', async () => {
    const faults: unknown[] = []
    const down = new Error('the database of the sign-in is down')
    const answer = await ask(
      () => {
        throw down
      },
      error => faults.push(error),
    )
    expect(answer.headers.get('retry-after')).toBe('2')
    expect(await codeOf(answer)).toEqual([503, 'unavailable'])
    expect(faults).toContain(down)
  })

  test.each([
    ['no subject', {tenant: 'acme', roles: []}, 'caller.subject'],
    ['a date that is no number', {tenant: 'acme', subject: 'ana', roles: [], expiresAt: '2030'}, 'caller.expiresAt'],
    ['a field of its own', {tenant: 'acme', subject: 'ana', roles: [], admin: true}, 'caller.admin'],
    ['nothing', undefined, 'caller: expected an object'],
  ])('that returns %s is told the field', async (_, caller, field) => {
    const faults: unknown[] = []
    const answer = await ask(
      () => caller as never,
      error => faults.push(error),
    )
    expect(await codeOf(answer)).toEqual([500, 'internal'])
    expect(String(faults[0])).toContain(field)
  })
})

describe('[ID-6] a request that names its person', () => {
  const named = (who: Who, meant: Who) => ({
    ...headersOf(who),
    [personHeader]: personHeaderOf({tenant: meant.tenant, subject: meant.subject} as never),
  })

  test('is refused as a whole when its token is another person’s, and nothing of it is judged', async () => {
    const {app} = servers.server()
    const device = testDevice(ana)
    const body = JSON.stringify({events: [device.open()]})
    const push = (headers: Record<string, string>) =>
      app.request(`/v1/sessions/${device.session}/events`, {method: 'POST', headers, body})
    expect(await codeOf(await push(named(ben, ana)))).toEqual([403, 'other_person'])
    const taken = await push(named(ana, ana))
    expect((await taken.json()).verdicts).toMatchObject([{status: 'accepted', seq: 1}])
  })

  test.each([
    ['another tenant', {tenant: 'other', subject: 'ana'}],
    ['a subject that only looks alike', {tenant: 'acme', subject: 'ana '}],
    ['names that join to the same text', {tenant: 'acme/ana', subject: ''}],
  ])('is refused for %s', async (_, meant) => {
    const answer = await servers.server().app.request('/v1/sessions', {headers: named(ana, meant)})
    expect(await codeOf(answer)).toEqual([403, 'other_person'])
  })

  test('may have any subject that the server takes', async () => {
    const odd: Who = {tenant: 'acme', subject: 'łódź/../ "\n%2F 👍'}
    const headers = {...named(odd, odd), authorization: 'Bearer x'}
    const authenticate: Authenticate = async () => ({...principal, ...odd})
    const answer = await servers.server({authenticate}).app.request('/v1/me', {headers})
    expect(await answer.json()).toEqual({tenant: 'acme', subject: odd.subject})
  })

  test('passes the check before a request to another origin', async () => {
    const {app} = servers.server({cors: {origins: ['https://desk.example']}})
    const answer = await app.request('/v1/me', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://desk.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': personHeader,
      },
    })
    expect(answer.headers.get('access-control-allow-headers')).toContain(personHeader)
    expect(answer.headers.get('access-control-allow-credentials')).toBe('true')
  })
})
