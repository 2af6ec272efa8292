import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import {serverEnvironment as env, issueToken, jwtAuth, type SyncServerOptions} from '../../sync-server/index.ts'
import {type Bucket, take} from '../../sync-server/rate-limit.ts'
import type {AuditPage} from '../../sync-server/storage/store.ts'
import {call, headersOf, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers} from './support/desk-server.ts'
import {readStream} from './support/read-stream.ts'

const database = testDatabase()
const servers = deskServers(database)
const jwt = {secret: 'a secret that only these tests know, long enough', issuer: 'test', audience: 'test'}
const operator: Who = {tenant: 'acme', subject: 'olga', roles: ['operator']}
const auditor: Who = {tenant: 'acme', subject: 'aud', roles: ['auditor']}

describe('revocation', () => {
  const served = (options: Partial<SyncServerOptions> = {}) => servers.server({authenticate: jwtAuth(jwt), ...options})
  const tokenOf = (subject: string, more: object = {}) => issueToken({...jwt, tenant: 'acme', subject, ...more})
  const ask = async (token: string, path = '/v1/sessions', body?: unknown) => {
    const init = body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)}
    const headers = {authorization: `Bearer ${token}`, 'holdfast-protocol': '1'}
    const response = await served().app.request(path, {headers, ...init})
    return {status: response.status, body: (await response.json()) as {error?: ErrorBody}}
  }
  const idOf = (token: string) => JSON.parse(atob(token.split('.')[1] ?? '')).jti as string

  test('[ID-4] one token that is revoked by its id is refused from then on; another of the same person works', async () => {
    const [lost, kept] = [await tokenOf('ana'), await tokenOf('ana')]
    const lead = await tokenOf('olga', {roles: ['operator']})
    expect((await ask(lead, '/v1/revocations', {subject: 'ana', token: idOf(lost)})).status).toBe(200)
    expect((await ask(lost)).body.error).toMatchObject({
      code: 'unauthenticated',
      message: 'The token has been revoked.',
    })
    expect((await ask(kept)).status).toBe(200)
  })

  test('[ID-4] all tokens of a subject end at once, and those of others, and of another tenant, do not', async () => {
    const own = await tokenOf('bea')
    const other = await tokenOf('cid')
    const elsewhere = await issueToken({...jwt, tenant: 'else', subject: 'bea'})
    expect((await ask(own, '/v1/revocations', {subject: 'bea'})).status).toBe(200)
    expect((await ask(own)).status).toBe(401)
    expect([(await ask(other)).status, (await ask(elsewhere)).status]).toEqual([200, 200])
    servers.environment.advance(-5000)
    expect((await ask(own, '/v1/revocations', {subject: 'bea'})).status).toBe(401)
    servers.environment.advance(5000)
  })

  test.each([
    ['behind', -20_000],
    ['ahead', 20_000],
  ])(
    '[ID-4] with a server clock 20 s %s the issuer, a token that worked stays revoked, and a later one works',
    async (_name, ms) => {
      const subject = `skewed-by-${ms}`
      servers.environment.advance(ms)
      const own = await tokenOf(subject)
      expect((await ask(own)).status).toBe(200)
      expect((await ask(own, '/v1/revocations', {subject})).status).toBe(200)
      const statuses: number[] = []
      for (const later of [0, 25_000, 3_600_000]) {
        servers.environment.advance(later)
        statuses.push((await ask(own)).status)
        servers.environment.advance(-later)
      }
      expect(statuses).toEqual([401, 401, 401])
      const issuedAt = Math.floor(Date.now() / 1000) + 120
      servers.environment.advance(120_000)
      expect((await ask(await tokenOf(subject, {issuedAt}))).status).toBe(200)
      servers.environment.advance(-120_000 - ms)
    },
  )

  test('[ID-4] a token that is dated in the future is refused until its time comes', async () => {
    const token = await tokenOf('early', {issuedAt: Math.floor(Date.now() / 1000) + 3600, expiresInSeconds: 7200})
    expect((await ask(token)).body.error?.message).toBe('The token is dated in the future.')
    servers.environment.advance(3_600_000)
    expect((await ask(token)).status).toBe(200)
    servers.environment.advance(-3_600_000)
  })

  test('[ID-4] what was revoked by a clock that was a day ahead does not lock out once the clock is right', async () => {
    const day = 86_400_000
    const own = await tokenOf('jumped')
    servers.environment.advance(day)
    expect((await ask(own, '/v1/revocations', {subject: 'jumped'})).status).toBe(200)
    servers.environment.advance(-day)
    expect((await ask(own)).status).toBe(401)
    servers.environment.advance(120_000)
    expect((await ask(own)).status).toBe(401)
    const later = await tokenOf('jumped', {issuedAt: Math.floor(Date.now() / 1000) + 120})
    expect((await ask(later)).status).toBe(200)
    servers.environment.advance(-120_000)
  })

  test('[ID-4] only the subject itself and an operator may revoke', async () => {
    const eve = await tokenOf('eve')
    const refused = await ask(eve, '/v1/revocations', {subject: 'dan'})
    expect(refused).toEqual(await ask(eve, '/v1/revocations', {subject: 'nobody-at-all'}))
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'forbidden'])
    expect((await ask(await tokenOf('dan'))).status).toBe(200)
  })

  test('[ID-4] a live stream ends with the access of its subject', async () => {
    const server = servers.server()
    const who = {tenant: 'acme', subject: 'fay', expiresAt: Date.now() + 60_000}
    const stream = readStream(await server.app.request('/v1/live', {headers: headersOf(who)}))
    expect(await stream.next()).toEqual({type: 'hello'})
    await call(server, operator, '/v1/revocations', {subject: 'gil'})
    await call(server, operator, '/v1/revocations', {subject: 'fay'})
    expect(await stream.rest()).toEqual([{type: 'expired'}])
  })
})

describe('rates', () => {
  const rates = {subject: {perSecond: 1, burst: 3}, tenant: {perSecond: 1, burst: 5}}
  const asks = async (server: ReturnType<typeof servers.server>, who: Who, times: number) => {
    const statuses: number[] = []
    for (let i = 0; i < times; i++) statuses.push((await call(server, who, '/v1/sessions')).status)
    return statuses
  }

  test('[SYNC-6] who asks too often hears how long to wait, and is served after that', async () => {
    const server = servers.server({limits: {rates}})
    const who = {tenant: 'hasty', subject: 'ana'}
    expect(await asks(server, who, 3)).toEqual([200, 200, 200])
    const response = await server.app.request('/v1/sessions', {headers: headersOf(who)})
    const {error} = (await response.json()) as {error: ErrorBody}
    expect([response.status, error.code, error.details?.of]).toEqual([429, 'rate_limited', 'subject'])
    expect(response.headers.get('retry-after')).toBe('1')
    servers.environment.advance(1000)
    expect((await asks(server, who, 1))[0]).toBe(200)
  })

  test('[SYNC-6] one subject leaves the others their share, and a tenant leaves other tenants theirs', async () => {
    const server = servers.server({limits: {rates}})
    const of = (tenant: string, subject: string) => ({tenant, subject})
    expect(await asks(server, of('one', 'ana'), 4)).toEqual([200, 200, 200, 429])
    expect(await asks(server, of('one', 'bob'), 2)).toEqual([200, 200])
    const full = await call<{error: ErrorBody}>(server, of('one', 'cid'), '/v1/sessions')
    expect([full.status, full.body.error.details?.of]).toEqual([429, 'tenant'])
    expect(await asks(server, of('two', 'ana'), 3)).toEqual([200, 200, 200])
  })

  test('[SYNC-6] however requests come, no more are let through than the burst and what time has brought', () => {
    const rate = {perSecond: 10, burst: 5}
    fc.assert(
      fc.property(fc.array(fc.nat(400), {maxLength: 200}), gaps => {
        let bucket: Bucket | undefined
        let [now, taken] = [1000, 0]
        for (const gap of gaps) {
          now += gap
          const one = take(bucket, rate, now)
          bucket = one.bucket
          if (one.waitMs === 0) taken++
          else expect(take(bucket, rate, now + one.waitMs).waitMs).toBe(0)
        }
        expect(taken).toBeLessThanOrEqual(rate.burst + ((now - 1000) * rate.perSecond) / 1000 + 1e-6)
      }),
    )
  })
})

describe('the audit', () => {
  test('[APP-2] an auditor reads all of its tenant, page by page, and nobody else reads any', async () => {
    const server = servers.server()
    for (let i = 0; i < 3; i++) {
      const at = servers.environment.now()
      const entry = {subject: 'x', action: 'session.erased', about: `a${i}`, reason: '', at}
      await database.store.audit.record({tenant: 'audited', ...entry} as never)
    }
    const who = {...auditor, tenant: 'audited'}
    const page = (await call<AuditPage>(server, who, '/v1/audit')).body
    expect(page.entries.map(({about}) => about)).toEqual(['a0', 'a1', 'a2'])
    const rest = await call<AuditPage>(server, who, `/v1/audit?after=${page.entries[0]?.id}`)
    expect(rest.body.entries.map(({about}) => about)).toEqual(['a1', 'a2'])
    expect((await database.store.audit.page('audited' as never, '', 2)).next).toBe(page.entries[1]?.id)
    for (const other of [{tenant: 'audited', subject: 'eve'}, operator]) {
      expect((await call<{error: ErrorBody}>(server, other, '/v1/audit')).body.error.code).toBe('forbidden')
    }
    expect((await call<{error: ErrorBody}>(server, who, '/v1/audit?after=x')).body.error.code).toBe('bad_input')
  })

  test('[APP-2] no route edits it: reading is all that is registered', () => {
    const registered = servers.server().app.routes.filter(({path}) => path.includes('audit'))
    expect(registered.map(({method, path}) => `${method} ${path}`)).toEqual(['GET /v1/audit'])
  })
})

describe('headers', () => {
  test('a page of another origin may call only when it is named, and the answers tell a browser to be careful', async () => {
    const named = servers.server({cors: {origins: ['https://desk.example']}})
    const preflight = (origin: string) =>
      named.app.request('/v1/sessions', {
        method: 'OPTIONS',
        headers: {origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization'},
      })
    const allowed = await preflight('https://desk.example')
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://desk.example')
    expect(allowed.headers.get('access-control-allow-headers')).toContain('authorization')
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    const who = {...operator, subject: env.id('device')}
    const answer = await servers.server().app.request('/v1/sessions', {
      headers: {...headersOf(who), origin: 'https://desk.example'},
    })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('x-frame-options')).toBe('SAMEORIGIN')
    expect(answer.headers.get('cross-origin-resource-policy')).toBe('same-origin')
  })
})
