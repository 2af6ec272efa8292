import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import {exportJWK, exportSPKI, generateKeyPair, type JSONWebKeySet, type JWK, SignJWT} from 'jose'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {createSyncServer, jwtAuth} from '../../sync-server/index.ts'
import {remoteKeySet} from '../../sync-server/key-set.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'

type Algorithm = 'ES256' | 'RS256' | 'EdDSA'
type Key = {kid: string; alg: Algorithm; privateKey: CryptoKey; publicKey: CryptoKey; jwk: JWK}
const issued = {issuer: 'https://login.example', audience: 'holdfast'}
const database = testDatabase()
const faults: unknown[] = []

async function newKey(alg: Algorithm): Promise<Key> {
  const kid = crypto.randomUUID()
  const {privateKey, publicKey} = await generateKeyPair(alg, {extractable: true})
  return {kid, alg, privateKey, publicKey, jwk: {...(await exportJWK(publicKey)), kid, alg}}
}

function token(key: Key, {expires = '1h' as string | number, over = {}} = {}): Promise<string> {
  return new SignJWT({tenant: 'acme', roles: [], ...over})
    .setProtectedHeader({alg: key.alg, kid: key.kid})
    .setSubject('ana')
    .setIssuer(issued.issuer)
    .setAudience(issued.audience)
    .setExpirationTime(expires)
    .sign(key.privateKey)
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 20))
}

/** A server that trusts this set of keys; what it answers to a token. */
function trusting(jwks: URL | JSONWebKeySet, clockToleranceSeconds?: number) {
  const authenticate = jwtAuth({...issued, jwks, ...(clockToleranceSeconds !== undefined && {clockToleranceSeconds})})
  const facts = {read: async () => null}
  const onFault = (error: unknown) => faults.push(error)
  const {app} = underContract(createSyncServer({store: database.store, facts, operations: {}, authenticate, onFault}))
  return async (bearer: string) => {
    const response = await app.request('/v1/sessions', {headers: {authorization: `Bearer ${bearer}`}})
    return response.ok ? 'in' : ((await response.json()) as {error: {code: string}}).error.code
  }
}

const served: {keys: JWK[]; down: boolean; asked: number} = {keys: [], down: false, asked: 0}
const keyServer = createServer((_, response) => {
  served.asked += 1
  if (served.down) return void response.writeHead(503).end()
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({keys: served.keys}))
})
let keysAt: URL
beforeAll(async () => {
  await new Promise<void>(resolve => keyServer.listen(0, '127.0.0.1', resolve))
  keysAt = new URL(`http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/keys`)
})
afterAll(() => new Promise(resolve => keyServer.close(resolve)))

describe('tokens signed by keys of a set', () => {
  test.each(['ES256', 'RS256', 'EdDSA'] as const)(
    '[ID-4] %s: one of the set opens the door, another does not',
    async alg => {
      const [ours, theirs] = [await newKey(alg), await newKey(alg)]
      const ask = trusting({keys: [ours.jwk]})
      expect(await ask(await token(ours))).toBe('in')
      expect(await ask(await token(theirs))).toBe('unauthenticated')
      expect(await ask(await token({...theirs, kid: ours.kid}))).toBe('unauthenticated')
    },
  )

  test('[ID-4] a public key is never taken for a shared secret', async () => {
    const ours = await newKey('RS256')
    const ask = trusting({keys: [ours.jwk]})
    const secret = new TextEncoder().encode(await exportSPKI(ours.publicKey))
    const forged = await new SignJWT({tenant: 'acme', roles: ['approver']})
      .setProtectedHeader({alg: 'HS256', kid: ours.kid})
      .setSubject('ana')
      .setIssuer(issued.issuer)
      .setAudience(issued.audience)
      .setExpirationTime('1h')
      .sign(secret)
    expect(await ask(forged)).toBe('unauthenticated')
  })

  test('[SYNC-4] clocks may disagree by what the host allows, and no more', async () => {
    const ours = await newKey('ES256')
    const late = await token(ours, {expires: Math.floor(Date.now() / 1000) - 60})
    expect(await trusting({keys: [ours.jwk]})(late)).toBe('token_expired')
    expect(await trusting({keys: [ours.jwk]}, 120)(late)).toBe('in')
    expect(await trusting({keys: [ours.jwk]}, 30)(late)).toBe('token_expired')
  })

  test('[ID-4] fetched from where the host says: a key that is taken out opens nothing, a new one does', async () => {
    const [old, next] = [await newKey('ES256'), await newKey('ES256')]
    served.keys = [old.jwk]
    expect(await trusting(keysAt)(await token(old))).toBe('in')
    served.keys = [next.jwk]
    const ask = trusting(keysAt)
    expect(await ask(await token(next))).toBe('in')
    expect(await ask(await token(old))).toBe('unauthenticated')
    const before = served.asked
    for (let i = 0; i < 5; i++) expect(await ask(await token(next))).toBe('in')
    expect(served.asked).toBe(before)
  })

  test('[SYNC-4] a key server that is down refuses nobody for good: the fault is told, and the same token works later', async () => {
    const ours = await newKey('ES256')
    served.keys = [ours.jwk]
    served.down = true
    const ask = trusting(keysAt)
    const bearer = await token(ours)
    expect(await ask(bearer)).toBe('unavailable')
    served.down = false
    await until(async () => (await ask(bearer)) === 'in')
  })

  test('[SYNC-4] keys that are held work while the key server is away, and it is not asked at each request', async () => {
    const [ours, theirs] = [await newKey('ES256'), await newKey('ES256')]
    served.keys = [ours.jwk]
    let now = 0
    const keyFor = remoteKeySet(keysAt, {freshMs: 1000, heldMs: 100_000, unknownMs: 5000, pauseMs: 100}, () => now)
    const opens = async (key: Key) =>
      keyFor({alg: key.alg, kid: key.kid}).then(
        () => 'in',
        error => error.code,
      )
    expect(await opens(ours)).toBe('in')
    served.down = true
    now = 6000
    const before = served.asked
    for (let i = 0; i < 50; i++) expect(await opens(ours)).toBe('in')
    for (let i = 0; i < 50; i++) expect(await opens({...theirs, kid: `invented-${i}`})).toBe('unavailable')
    expect(served.asked).toBe(before + 1)
    now = 10_000
    for (let i = 0; i < 50; i++) expect(await opens(ours)).toBe('in')
    expect(served.asked).toBe(before + 2)
    now = 200_000
    expect(await opens(ours)).toBe('unavailable')
    served.down = false
    now = 300_000
    expect(await opens(ours)).toBe('in')
  })

  test('[SYNC-6] key ids that nobody has are looked up once in a while, not once a request', async () => {
    const [ours, next] = [await newKey('ES256'), await newKey('ES256')]
    served.keys = [ours.jwk]
    let now = 0
    const keyFor = remoteKeySet(keysAt, {unknownMs: 5000}, () => now)
    const opens = async (key: Key) =>
      keyFor({alg: key.alg, kid: key.kid}).then(
        () => 'in',
        error => error.code,
      )
    const before = served.asked
    for (let i = 0; i < 50; i++) expect(await opens({...next, kid: `x${i}`})).toBe('ERR_JWKS_NO_MATCHING_KEY')
    expect(served.asked).toBe(before + 1)
    served.keys = [ours.jwk, next.jwk]
    now = 6000
    expect(await opens(next)).toBe('in')
    expect(served.asked).toBe(before + 2)
  })
})
