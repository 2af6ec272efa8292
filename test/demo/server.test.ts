import {mkdir, mkdtemp, readFile, rm, stat, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {demoRoutes} from '../../web-demo/server/demo-routes.ts'
import {demoSecret} from '../../web-demo/server/demo-secret.ts'
import {modelSettings} from '../../web-demo/server/gateway-models.ts'
import {openDemo} from '../../web-demo/server/open-demo.ts'

let folder: string
let demo: Awaited<ReturnType<typeof openDemo>>
const get = (path: string, headers: Record<string, string> = {}) => fetch(demo.url + path, {headers})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refund-desk-'))
  await mkdir(join(folder, 'page/assets'), {recursive: true})
  await writeFile(join(folder, 'page/index.html'), '<!doctype html><title>Desk</title>')
  await writeFile(join(folder, 'page/sw.js'), '// worker')
  await writeFile(join(folder, 'page/assets/app-1a2b.js'), 'export {}')
  await writeFile(join(folder, 'secret.txt'), 'not for the page')
  demo = await openDemo({dataDir: 'memory://', pageDir: join(folder, 'page'), port: 0, model: null})
})

afterAll(async () => {
  await demo.close()
  await rm(folder, {recursive: true})
})

describe('the demo server', () => {
  test('gives Maya a token that the sync server accepts, and strangers none', async () => {
    const {token, expiresAt} = await (await get('/demo/token?as=maya')).json()
    expect(expiresAt).toBeGreaterThan(Date.now())
    const headers = {authorization: `Bearer ${token}`, 'holdfast-protocol': '1'}
    expect((await get('/v1/facts/order%2FA17', headers)).status).toBe(200)
    expect((await get('/v1/facts/order%2FA17', {'holdfast-protocol': '1'})).status).toBe(401)
    expect((await get('/demo/token?as=mallory')).status).toBe(400)
    expect((await get('/demo/token')).status).toBe(400)
  })

  test('shows the tables', async () => {
    const shop = await (await get('/demo/shop')).json()
    expect(shop.orders).toHaveLength(13)
    expect(shop.refunds).toMatchObject([{orderId: 'C12'}, {orderId: 'C05'}])
  })

  test.for(['/', '/inbox', '/shop', '/memory'])(
    '%s is the page, under a policy that allows nothing inline',
    async path => {
      const answer = await get(path)
      expect(await answer.text()).toContain('<title>Desk')
      const policy = answer.headers.get('content-security-policy')
      expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe-inline')
    },
  )

  test('the service worker is asked anew, a built asset is kept', async () => {
    expect((await get('/sw.js')).headers.get('cache-control')).toBe('no-cache')
    expect((await get('/assets/app-1a2b.js')).headers.get('cache-control')).toContain('immutable')
  })

  test.for(['/../secret.txt', '/..%2fsecret.txt', '/%2e%2e/secret.txt', '/assets/gone.js', '/%ff'])(
    '%s leads nowhere',
    async path => {
      const answer = await get(path)
      expect(await answer.text()).not.toContain('not for the page')
      expect(answer.status).toBe(404)
    },
  )
})

test.for(['127.0.0.1', 'localhost:8787', 'desk.localhost', '[::1]:8787', 'desk.example'])(
  '%s gets a token',
  async host => {
    const routes = demoRoutes('s'.repeat(32), {} as never, ['https://desk.example'])
    expect((await routes.request('/token?as=maya', {headers: {host}})).status).toBe(200)
  },
)

test.for([
  'evil.example',
  '127.0.0.1.evil.example',
  'localhost.evil.example',
  '10.0.0.1',
  'desk.example.evil.example',
  ' ',
])('a host of another name gets no token and sees no table: %s', async host => {
  const routes = demoRoutes('s'.repeat(32), {} as never, ['https://desk.example'])
  for (const path of ['/token?as=maya', '/shop']) {
    expect((await routes.request(path, {headers: {host}})).status).toBe(403)
  }
})

test.for(['', '\n', 'short'])('a secret that a crash or a full disk left as %j is made anew', async left => {
  const dataDir = await mkdtemp(join(folder, 'secret-'))
  await writeFile(join(dataDir, 'demo-secret'), left)
  const secret = await demoSecret(dataDir)
  expect(secret.length).toBeGreaterThanOrEqual(32)
  expect(await demoSecret(dataDir)).toBe(secret)
  expect((await stat(join(dataDir, 'demo-secret'))).mode & 0o077).toBe(0)
})

test('a secret that cannot be read is refused with the file and the cause', async () => {
  const dataDir = await mkdtemp(join(folder, 'secret-'))
  await mkdir(join(dataDir, 'demo-secret'))
  await expect(demoSecret(dataDir)).rejects.toThrow(/demo-secret cannot be used \(EISDIR.*delete it/)
})

test('the secret is made once, is long enough and is readable by its owner only', async () => {
  const [first, second] = await Promise.all([demoSecret(folder), demoSecret(folder)])
  expect(first).toBe(second)
  expect(first).toBe(await readFile(join(folder, 'demo-secret'), 'utf8'))
  expect(first.length).toBeGreaterThanOrEqual(32)
  expect((await stat(join(folder, 'demo-secret'))).mode & 0o077).toBe(0)
})

test.for([
  [{}, null],
  [
    {HOLDFAST_MODEL_URL: 'https://models.example/v1', HOLDFAST_MODEL: 'small'},
    {url: 'https://models.example/v1', model: 'small', key: undefined},
  ],
])('model settings %o', ([environment, expected]) => {
  expect(modelSettings(environment as NodeJS.ProcessEnv)).toEqual(expected)
})

test('half a model setting is refused instead of ignored', () => {
  expect(() => modelSettings({HOLDFAST_MODEL: 'small'} as NodeJS.ProcessEnv)).toThrow('together')
})
