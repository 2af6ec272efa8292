import {createServer, type Server} from 'node:http'
import type {AddressInfo} from 'node:net'
import {text} from 'node:stream/consumers'
import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest'
import {closeServer, type FaultProxy, openFaultProxy} from '../support/fault-proxy.ts'
import {createGate} from '../support/gate.ts'

/** Answers a POST with its body; any GET gets two pieces, the second when the gate opens. */
let server: Server
let proxy: FaultProxy
let bodies: string[]
let gate = createGate()

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const body = await text(request)
    if (request.method === 'POST') {
      bodies.push(body)
      response.setHeader('x-marked', String(request.headers['x-marked'] ?? 'no'))
      response.end(body)
      return
    }
    response.write('first ')
    await gate.pass()
    response.end('second')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  proxy = await openFaultProxy((server.address() as AddressInfo).port)
})
beforeEach(() => {
  bodies = []
  gate = createGate()
})
afterAll(async () => {
  await proxy.close()
  await closeServer(server)
})

const post = (body = 'hello', headers = {}) => fetch(`${proxy.url}/a?b=1`, {method: 'POST', body, headers})

test('without a fault everything passes as it comes, and every call is listed', async () => {
  const before = proxy.calls.length
  expect(await (await post()).text()).toBe('hello')
  expect(proxy.calls.slice(before)).toMatchObject([{request: 'POST /a', query: 'b=1'}])
  const reader = (await fetch(proxy.url)).body!.getReader()
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('first ')
  gate.open()
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('second')
})

test('a buffered or compressed answer begins only when the server has ended it', async () => {
  for (const fault of [{buffer: true}, {gzip: true}]) {
    gate = createGate()
    const heal = proxy.add(fault)
    let begun = false
    const answer = fetch(proxy.url).then(response => {
      begun = true
      return response.text()
    })
    await gate.reached(1)
    expect(begun).toBe(false)
    gate.open()
    expect(await answer).toBe('first second')
    heal()
  }
})

test('an answer held after some bytes, cut, throttled, delayed or closed early keeps what it let pass', async () => {
  const held = proxy.add({holdAfterBytes: 3})
  const reader = (await fetch(proxy.url)).body!.getReader()
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('fir')
  gate.open()
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('st second')
  held()
  const cut = proxy.add({cutAfterBytes: 4})
  await expect((await post('0123456789')).text()).rejects.toThrow()
  cut()
  for (const fault of [{bytesPerSecond: 200}, {delayMs: 20}]) {
    const heal = proxy.add(fault)
    expect(await (await post('0123456789')).text()).toBe('0123456789')
    heal()
  }
  gate = createGate()
  const closing = proxy.add({closeAfterMs: 50})
  expect(await (await fetch(proxy.url)).text()).toBe('first ')
  gate.open()
  closing()
})

test('a call is answered by the proxy, refused, doubled, or done without its answer', async () => {
  const busy = proxy.add({answer: {status: 503, headers: {'retry-after': '1'}, body: '<h1>Busy</h1>'}, times: 1})
  const answer = await post()
  expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([503, '1', '<h1>Busy</h1>'])
  expect((await post()).status).toBe(200)
  busy()
  bodies = []
  const refuse = proxy.add({refuse: true})
  await expect(post()).rejects.toThrow()
  expect(bodies).toEqual([])
  refuse()
  const drop = proxy.add({dropAnswer: true})
  await expect(post('kept')).rejects.toThrow()
  expect(bodies).toEqual(['kept'])
  drop()
  const twice = proxy.add({twice: true, match: ({request}) => request.startsWith('POST')})
  expect(await (await post('again')).text()).toBe('again')
  expect(bodies).toEqual(['kept', 'again', 'again'])
  twice()
})

test('headers are stripped on either way', async () => {
  const heal = proxy.add({stripRequest: ['x-marked']})
  expect((await post('', {'x-marked': 'yes'})).headers.get('x-marked')).toBe('no')
  heal()
  expect((await post('', {'x-marked': 'yes'})).headers.get('x-marked')).toBe('yes')
  const strip = proxy.add({stripAnswer: ['x-marked']})
  expect((await post()).headers.get('x-marked')).toBeNull()
  strip()
})

test('over the limit of connections calls wait for one to end', async () => {
  proxy.limit(2)
  const streams = [await fetch(proxy.url), await fetch(proxy.url)]
  const waiting = post('late')
  await expect.poll(() => proxy.calls.at(-1)?.request).toBe('POST /a')
  expect(bodies).toEqual([])
  gate.open()
  expect(await (await waiting).text()).toBe('late')
  await Promise.all(streams.map(stream => stream.text()))
  proxy.limit(Number.POSITIVE_INFINITY)
})
