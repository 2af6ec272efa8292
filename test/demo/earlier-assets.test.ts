import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Hono} from 'hono'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {keepEarlier} from '../../web-demo/build/keep-earlier.ts'
import {staticFiles} from '../../web-demo/server/static-files.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-builds-'))
})
afterEach(() => rm(folder, {recursive: true, force: true}))

const page = () => join(folder, 'page')
const earlier = () => join(folder, 'earlier')

/** Replaces the built page by one whose worker has this name. */
async function build(worker: string, now: number): Promise<void> {
  await keepEarlier(page(), earlier(), now)
  await rm(page(), {recursive: true, force: true})
  await mkdir(join(page(), 'assets'), {recursive: true})
  await writeFile(join(page(), 'index.html'), worker)
  await writeFile(join(page(), 'assets', worker), worker)
}

async function get(path: string): Promise<{status: number; type: string | null; text: string}> {
  const app = new Hono().get('*', staticFiles(page(), earlier()))
  const response = await app.request(path)
  return {status: response.status, type: response.headers.get('content-type'), text: await response.text()}
}

const day = 24 * 3_600_000

describe('the assets of an earlier build', () => {
  test('a tab of the build before finds its worker', async () => {
    await build('worker-1.js', 0)
    await build('worker-2.js', day)
    expect(await get('/assets/worker-1.js')).toMatchObject({status: 200, text: 'worker-1.js'})
    expect(await get('/assets/worker-2.js')).toMatchObject({status: 200, text: 'worker-2.js'})
    expect((await get('/assets/worker-1.js')).type).toContain('text/javascript')
  })

  test('a page is only ever the newest', async () => {
    await build('worker-1.js', 0)
    await build('worker-2.js', day)
    expect((await get('/')).text).toBe('worker-2.js')
  })

  test('after two weeks they are gone, and answered by 404, never by a page', async () => {
    await build('worker-1.js', 0)
    await build('worker-2.js', day)
    await build('worker-3.js', 20 * day)
    expect((await get('/assets/worker-1.js')).status).toBe(404)
    expect((await get('/assets/worker-2.js')).status).toBe(200)
  })

  test('the first build has none', async () => {
    await build('worker-1.js', 0)
    expect((await get('/assets/worker-0.js')).status).toBe(404)
  })
})
