import {expect, test} from 'vitest'
import {limits} from '../../runtime/protocol/version.ts'
import {headersOf} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers, logOf} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const blob = `sha256:${'a'.repeat(64)}`
const MiB = 1024 * 1024

/** A body that stays open until `end`; `sent` bytes have arrived. */
function openBody(sent: number) {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start: controller => {
      control = controller
      controller.enqueue(new Uint8Array(sent))
    },
  })
  return {body, end: () => control?.close()}
}

async function errorOf(answer: Response) {
  return {status: answer.status, retry: answer.headers.get('retry-after'), ...(await answer.json())}
}

test('[SYNC-6] bodies that their senders hold back fill the room of one subject and nobody else’s', async () => {
  const server = servers.server({limits: {bodies: {subject: 5 * MiB, process: 8 * MiB}}})
  const [ana, ben] = ['ana', 'ben'].map(subject => testDevice({tenant: 'bodies', subject}))
  for (const device of [ana!, ben!]) await device.push(server, [device.open()])
  const put = ({who, session}: typeof ana & {}, body: BodyInit, length?: number) =>
    server.app.request(`/v1/sessions/${session}/blobs/${blob}`, {
      method: 'PUT',
      headers: {...headersOf(who), ...(length !== undefined && {'content-length': String(length)})},
      body,
      duplex: 'half',
    } as RequestInit)
  const held = openBody(1)
  // The declared length counts before it has arrived.
  const first = put(ana!, held.body, 4 * MiB)
  const refused = {status: 429, retry: '1', error: {code: 'rate_limited', details: {of: 'subject'}}}
  await expect.poll(async () => errorOf(await put(ana!, openBody(2 * MiB).body, 2 * MiB))).toMatchObject(refused)
  const growing = openBody(2 * MiB)
  expect(await errorOf(await put(ana!, growing.body))).toMatchObject(refused)
  await ben!.push(server, [ben!.post('unaffected')])
  const full = {status: 429, error: {details: {of: 'process'}}}
  expect(await errorOf(await put(ben!, openBody(1).body, 5 * MiB))).toMatchObject(full)
  held.end()
  expect((await first).status).toBe(400)
  const again = await put(ana!, new Uint8Array(2 * MiB), 2 * MiB)
  expect(await errorOf(again)).toMatchObject({status: 400, error: {code: 'bad_input'}})
})

test('[SYNC-6] a body of undeclared length is refused once it is too long', async () => {
  const server = servers.server()
  const {who, session} = testDevice({tenant: 'bodies', subject: 'long'})
  const request = {
    method: 'POST',
    headers: headersOf(who),
    body: openBody(limits.bodyBytes + 1).body,
    duplex: 'half',
  } as RequestInit
  const answer = await server.app.request(`/v1/sessions/${session}/events`, request)
  expect(await errorOf(answer)).toMatchObject({status: 413, error: {code: 'too_large'}})
})

test('[LOG-5] bytes that are no UTF-8, and encoded bodies, are refused; nothing is stored', async () => {
  const server = servers.server()
  const device = testDevice({tenant: 'bodies', subject: 'bytes'})
  await device.push(server, [device.open()])
  const bytes = new TextEncoder().encode(JSON.stringify({events: [device.post('X marks')]}))
  bytes[bytes.indexOf('X'.charCodeAt(0))] = 0xff
  const path = `/v1/sessions/${device.session}/events`
  const post = (body: BodyInit, headers = {}) =>
    server.app.request(path, {method: 'POST', headers: {...headersOf(device.who), ...headers}, body})
  expect(await errorOf(await post(bytes))).toMatchObject({
    status: 400,
    error: {code: 'bad_input', message: 'body: expected JSON in UTF-8'},
  })
  const encoded = await post(JSON.stringify({events: [device.post('two')]}), {'content-encoding': 'gzip'})
  expect(await errorOf(encoded)).toMatchObject({status: 400, error: {code: 'bad_input'}})
  expect(await logOf(server, device.who, device.session)).toHaveLength(1)
})
