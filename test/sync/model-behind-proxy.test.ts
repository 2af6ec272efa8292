import type {LanguageModelV3, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {type NodeHost, serveNode} from '../../sync-server/node.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {type Fault, type FaultProxy, openFaultProxy} from '../support/fault-proxy.ts'

const usage = {
  inputTokens: {total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0},
  outputTokens: {total: 1, text: 1, reasoning: 0},
}
const words = Array.from({length: 40}, (_, n) => `word${n} `)
let asked = 0
/** A word every 200 ms. */
const slow: LanguageModelV3 = {
  specificationVersion: 'v3',
  provider: 'scripted',
  modelId: 'slow',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not scripted')),
  doStream: async () => {
    asked += 1
    return {stream: new ReadableStream<LanguageModelV3StreamPart>({start: write})}
  },
}

async function write(out: ReadableStreamDefaultController<LanguageModelV3StreamPart>): Promise<void> {
  out.enqueue({type: 'stream-start', warnings: []})
  out.enqueue({type: 'text-start', id: 't'})
  for (const delta of words) {
    await new Promise(resolve => setTimeout(resolve, 200))
    out.enqueue({type: 'text-delta', id: 't', delta})
  }
  out.enqueue({type: 'text-end', id: 't'})
  out.enqueue({type: 'finish', usage, finishReason: {unified: 'stop', raw: 'stop'}})
  out.close()
}

let shop: TestServer
let host: NodeHost
let proxy: FaultProxy
beforeAll(async () => {
  shop = await openTestServer({models: {slow}})
  host = await serveNode(shop.server, {port: 0, graceMs: 1})
  proxy = await openFaultProxy(Number(new URL(host.url).port))
})
afterAll(async () => {
  await proxy?.close()
  await host?.close()
  await shop?.close()
})

const faults: [string, Fault][] = [
  ['holds streams until they end', {buffer: true}],
  ['compresses streams and flushes nothing', {gzip: true}],
  ['lets a part pass and holds the rest', {holdAfterBytes: 200}],
  ['closes streams after a moment', {closeAfterMs: 500}],
]

test.each(faults)(
  '[SYNC-4] [SYNC-8] behind a proxy that %s a generation arrives whole, each part once, and is made once',
  async (_, fault) => {
    const heal = proxy.add({...fault, match: ({request}) => request.includes('/v1/models/')})
    const before = asked
    const token = await shop.token('ana')
    const link = shop.linkWith(async () => token, {
      url: proxy.url,
      fetch: globalThis.fetch,
      deadlineMs: 6000,
      silenceMs: 3000,
    })
    const prompt = [{role: 'user' as const, content: [{type: 'text' as const, text: 'Hello'}]}]
    const call = {session: env.id('session'), run: env.id('run'), step: env.id('step'), attempt: 1, try: 1}
    const stream = await link.streamModel('slow', {prompt}, call)
    const text: string[] = []
    for await (const part of stream) if (part.type === 'text-delta') text.push(part.delta)
    expect(text).toEqual(words)
    expect(asked - before).toBe(1)
    heal()
  },
)
