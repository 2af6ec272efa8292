import {beforeAll, describe, expect, test} from 'vitest'
import type {Envelope} from '../../runtime/protocol/event.ts'
import {limits} from '../../runtime/protocol/version.ts'
import type {SyncServer} from '../../sync-server/index.ts'
import {bytesWith, everyByte, refOf} from '../support/blobs.ts'
import {rowsByTable} from '../support/scan-database.ts'
import {getBlob, putBlob, resultWith} from './support/blob-calls.ts'
import {call, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers, logOf} from './support/desk-server.ts'
import {type TestDevice, testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let server: SyncServer
let people = 0
const newWho = (): Who => ({tenant: 'acme', subject: `person-${++people}`})
const day = 86_400_000

beforeAll(() => {
  server = servers.server()
})

async function opened(who = newWho()): Promise<TestDevice> {
  const device = testDevice(who)
  await device.push(server, [device.open()])
  return device
}
const put = ({who, session}: TestDevice, bytes: Uint8Array, id: string = refOf(bytes).$blob, by = server) =>
  putBlob(by, who, session, id, new Uint8Array(bytes))
const get = ({who, session}: TestDevice, bytes: Uint8Array, by = server) =>
  getBlob(by, who, session, refOf(bytes).$blob)
const codeOf = async (response: Response) => (await response.json()).error.code

/** The verdicts of a run that ends with a result holding these blobs, and that result. */
async function pushed(
  device: TestDevice,
  ...args: [Parameters<typeof resultWith>[1], Parameters<typeof resultWith>[2]?]
) {
  const events = resultWith(device, ...args)
  const {verdicts} = await device.push(server, events)
  return {last: events.at(-1) as Envelope, verdict: verdicts.at(-1)}
}

describe('a blob', () => {
  test('[LOG-5] that was put is read back byte for byte, as bytes and as nothing else that a browser would run', async () => {
    const device = await opened()
    const page = new TextEncoder().encode('<script>alert(1)</script>\0')
    for (const bytes of [everyByte, page, new Uint8Array()]) {
      expect(await put(device, bytes)).toEqual({status: 200, body: {}})
      const answer = await get(device, bytes)
      expect([answer.status, [...new Uint8Array(await answer.arrayBuffer())]]).toEqual([200, [...bytes]])
      expect(answer.headers.get('content-type')).toBe('application/octet-stream')
      expect(answer.headers.get('content-disposition')).toBe('attachment')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('[LOG-5] under the hash of other bytes is refused, naming both, and nothing of it is kept', async () => {
    const device = await opened()
    const other = refOf(bytesWith())
    const answer = await put(device, everyByte, other.$blob)
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'bad_input'])
    expect(answer.body.error?.message).toContain(`expected the bytes of ${other.$blob}`)
    expect(answer.body.error?.message).toContain(refOf(everyByte).$blob)
    expect(await codeOf(await getBlob(server, device.who, device.session, other.$blob))).toBe('not_found')
    expect((await rowsByTable(database.db)).get('hf_blobs')?.join()).not.toContain(device.session)
  })

  test.each(['with its length told', 'without'])(
    '[LOG-5] of 8 MiB is taken and of a byte more refused, %s',
    async how => {
      const device = await opened()
      const body = (bytes: Uint8Array<ArrayBuffer>) => (how === 'without' ? new Blob([bytes]).stream() : bytes)
      for (const [more, status] of [
        [0, 200],
        [1, 413],
      ] as const) {
        const bytes = new Uint8Array(limits.blobBytes + more)
        const answer = await putBlob(server, device.who, device.session, refOf(bytes).$blob, body(bytes))
        expect(answer.status).toBe(status)
        if (status === 413)
          expect(answer.body.error).toMatchObject({code: 'too_large', details: {limit: limits.blobBytes}})
      }
    },
  )

  test.each(['sha256:abc', 'md5:00', `sha256:${'A'.repeat(64)}`, '..'])(
    '[LOG-4] named %s is refused by what was expected',
    async id => {
      const device = await opened()
      const answer = await putBlob(server, device.who, device.session, id, 'x')
      expect([answer.status, answer.body.error?.code]).toEqual(id === '..' ? [404, 'not_found'] : [400, 'bad_input'])
    },
  )

  test('[ID-4] [RET-5] of somebody else is answered like one that nobody has, whatever is asked', async () => {
    const device = await opened()
    await put(device, everyByte)
    await pushed(device, [refOf(everyByte)])
    const mine = await opened()
    const unknown = testDevice(mine.who)
    for (const stranger of [mine.who, {tenant: 'other', subject: device.who.subject}]) {
      const asked = [get({...device, who: stranger}, everyByte), get({...unknown, who: stranger}, everyByte)]
      const [foreign, nobody] = await Promise.all((await Promise.all(asked)).map(answer => answer.text()))
      expect(foreign).toBe(nobody)
      expect(await put({...device, who: stranger}, everyByte)).toEqual(
        await put({...unknown, who: stranger}, everyByte),
      )
    }
    // The same bytes in a session of one's own are one's own business, before and after.
    expect((await get(mine, everyByte)).status).toBe(404)
    expect((await put(mine, everyByte)).status).toBe(200)
  })
})

describe('an event that names a blob', () => {
  test('[LOG-5] is refused until the bytes are there, says which are lacking, and is then taken as it is', async () => {
    const device = await opened()
    const [bytes, more] = [bytesWith(), bytesWith()]
    const refs = [refOf(bytes), refOf(more)]
    await put(device, bytes)
    const {last, verdict} = await pushed(device, refs)
    expect(verdict).toMatchObject({
      status: 'rejected',
      error: {code: 'refused', details: {lacks: [refs[1]?.$blob], legal: [expect.stringContaining('put')]}},
    })
    await put(device, more)
    for (const status of ['accepted', 'duplicate']) {
      expect((await device.push(server, [last])).verdicts).toMatchObject([{status, seq: 6}])
    }
    expect((await logOf(server, device.who, device.session)).at(-1)?.data).toMatchObject({blobs: refs})
  })

  test('[LOG-5] in another size than the bytes have is refused', async () => {
    const device = await opened()
    await put(device, everyByte)
    const {verdict} = await pushed(device, [{...refOf(everyByte), bytes: 1}])
    expect(verdict).toMatchObject({
      status: 'rejected',
      error: {code: 'refused', details: {lacks: [refOf(everyByte).$blob]}},
    })
  })

  test('[LOG-5] with a value over 64 KiB inlined is refused by field and limit; one that only looks like a blob is a value', async () => {
    const device = await opened()
    const {verdict} = await pushed(device, [], 'x'.repeat(limits.valueBytes - 1))
    expect(verdict).toMatchObject({status: 'rejected', error: {code: 'bad_input'}})
    expect(JSON.stringify(verdict)).toContain('a larger value is a blob')
    const looks = {$blob: refOf(bytesWith()).$blob, bytes: 3000, type: 'image/png'}
    const other = await opened()
    const {last, verdict: taken} = await pushed(other, [], [looks, {$blob: 1}])
    expect(taken).toMatchObject({status: 'accepted'})
    expect((await logOf(server, other.who, other.session)).at(-1)?.data).toEqual(last.data)
  })

  test.each([
    ['none', []],
    ['one twice', [refOf(everyByte), refOf(everyByte)]],
    ['seventeen', Array.from({length: 17}, (_, i) => refOf(Uint8Array.of(i)))],
    ['one of 8 MiB and a byte', [{...refOf(everyByte), bytes: limits.blobBytes + 1}]],
    ['one without a media type', [{...refOf(everyByte), type: 'picture'}]],
  ])('[LOG-4] that names %s is refused at its field', async (_, blobs) => {
    const device = await opened()
    const events = resultWith(device, [refOf(everyByte)])
    const last = {...events.at(-1), data: {...(events.at(-1)?.data as object), blobs}}
    const {verdicts} = await device.push(server, [...events.slice(0, -1), last])
    expect(verdicts.at(-1)).toMatchObject({status: 'rejected', error: {code: 'bad_input'}})
    expect(JSON.stringify(verdicts.at(-1))).toContain('data.blobs')
  })
})

describe('room', () => {
  test('[SYNC-1] that is used up is refused by whose it is, and the event is taken without the bytes', async () => {
    const small = servers.server({limits: {blobs: {sessionBytes: 5000}}})
    const device = await opened()
    const [first, second] = [bytesWith(), bytesWith()]
    expect((await put(device, first, undefined, small)).status).toBe(200)
    const full = await put(device, second, undefined, small)
    expect(full.status).toBe(429)
    expect(full.body.error).toMatchObject({
      code: 'budget_exhausted',
      message: 'The blobs of this session come to 3000 of 5000 bytes: there is no room for 3000 more.',
      details: {of: 'session', used: 3000, limit: 5000},
    })
    expect((await pushed(device, [refOf(first), refOf(second)])).verdict).toMatchObject({status: 'accepted'})
    expect(await codeOf(await get(device, second))).toBe('budget_exhausted')
    expect((await put(device, second)).status).toBe(200)
    expect((await get(device, second)).status).toBe(200)
  })

  test('[RET-1] what no event has named a day later is dropped by the sweep, what one has stays', async () => {
    const device = await opened()
    const [named, unnamed] = [bytesWith(), bytesWith()]
    for (const bytes of [named, unnamed]) await put(device, bytes)
    await pushed(device, [refOf(named)])
    const statuses = async () => [(await get(device, named)).status, (await get(device, unnamed)).status]
    servers.environment.advance(day - 60_000)
    await server.sweep()
    expect(await statuses()).toEqual([200, 200])
    servers.environment.advance(120_000)
    await server.sweep()
    expect(await statuses()).toEqual([200, 404])
    servers.environment.advance(-day - 60_000)
  })
})

describe('erased with its session', () => {
  test('[RET-3] it is gone for its subject by name, and cannot be put again', async () => {
    const device = await opened()
    await put(device, everyByte)
    await pushed(device, [refOf(everyByte)])
    const {body} = await call<{layers: unknown[]}>(server, device.who, '/v1/erasures', {session: device.session})
    expect(body.layers).toContainEqual({name: 'blobs', removed: 1, kept: null})
    expect(await codeOf(await get(device, everyByte))).toBe('erased')
    expect((await put(device, everyByte)).body.error?.code).toBe('erased')
  })
})
