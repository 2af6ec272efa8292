import type {LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import {beforeAll, describe, expect, test} from 'vitest'
import {createSyncServer, type SyncServer, type SyncServerOptions} from '../../sync-server/index.ts'
import {serveNode} from '../../sync-server/node.ts'
import {headersOf, trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {readStream} from './support/read-stream.ts'

const database = testDatabase()
const key = 'sk-live-0123456789abcdef'
const who = {tenant: 'models', subject: 'ana'}
let base: Omit<SyncServerOptions, 'models'>
beforeAll(() => {
  base = {store: database.store, authenticate: trustingAuth, facts: {read: async () => null}, operations: {}}
})

type Script = (options: LanguageModelV3CallOptions) => ReadableStream<LanguageModelV3StreamPart>
function scripted(script: Script): LanguageModelV3 & {calls: LanguageModelV3CallOptions[]} {
  const calls: LanguageModelV3CallOptions[] = []
  return {
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId: key,
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error('not scripted')),
    doStream: async options => {
      calls.push(options)
      return {stream: script(options), request: {body: key}}
    },
  }
}

const prompt = [{role: 'user', content: [{type: 'text', text: 'Hello'}]}]
const usage = {
  inputTokens: {total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0},
  outputTokens: {total: 1, text: 1, reasoning: 0},
}
const parts: LanguageModelV3StreamPart[] = [
  {type: 'stream-start', warnings: []},
  {type: 'text-start', id: 't'},
  {type: 'raw', rawValue: {key}},
  {type: 'text-delta', id: 't', delta: 'Hi\n\nthere: "you"'},
  {type: 'text-end', id: 't'},
  {type: 'finish', usage, finishReason: {unified: 'stop', raw: 'stop'}},
]
const streamOf = (list: LanguageModelV3StreamPart[]) =>
  new ReadableStream<LanguageModelV3StreamPart>({
    start: controller => {
      for (const part of list) controller.enqueue(part)
      controller.close()
    },
  })

const ask = (server: SyncServer, body: unknown, name = 'desk') =>
  server.app.request(`/v1/models/${name}/stream`, {method: 'POST', headers: headersOf(who), body: JSON.stringify(body)})

describe('model gateway', () => {
  test('streams the parts of one generation as they are, and keeps raw chunks and keys at home', async () => {
    const model = scripted(() => streamOf(parts))
    const server = underContract(createSyncServer({...base, models: {desk: model}}))
    const listed = await server.app.request('/v1/models', {headers: headersOf(who)})
    expect(await listed.json()).toEqual({models: [{name: 'desk', provider: 'scripted'}]})
    const response = await ask(server, {
      prompt,
      temperature: 0,
      headers: {authorization: 'mine'},
      includeRawChunks: true,
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const got = await readStream(response).rest()
    expect(got).toEqual(parts.filter(part => part.type !== 'raw'))
    expect(model.calls[0]).toMatchObject({prompt, temperature: 0, includeRawChunks: false})
    expect(model.calls[0]).not.toHaveProperty('headers')
    expect(JSON.stringify(got)).not.toContain(key)
  })

  test('[VIEW-5] of an error neither words nor keys leave, only its kind', async () => {
    const error = Object.assign(new Error(`Incorrect API key provided: ${key}`), {
      requestBodyValues: {key},
      isRetryable: true,
    })
    const said: LanguageModelV3StreamPart[] = [
      {type: 'text-start', id: 't'},
      {type: 'error', error},
    ]
    const inStream = underContract(createSyncServer({...base, models: {desk: scripted(() => streamOf(said))}}))
    const [, part] = await readStream(await ask(inStream, {prompt})).rest<{type: string}>()
    expect(part).toEqual({
      type: 'error',
      error: {message: expect.stringContaining('broke off'), retryable: true, reason: 'broken'},
    })

    const model = {...scripted(() => streamOf([])), doStream: () => Promise.reject(error)}
    const refused = await ask(underContract(createSyncServer({...base, models: {desk: model}})), {prompt})
    const text = await refused.text()
    expect(refused.status).toBe(502)
    expect(JSON.parse(text).error).toMatchObject({code: 'model_failed', details: {retryable: true}})
    expect(text).not.toContain(key)
  })

  test('a stream that breaks off ends in an error part, not in silence', async () => {
    const broken = () =>
      new ReadableStream<LanguageModelV3StreamPart>({
        start: controller => controller.enqueue({type: 'text-start', id: 't'}),
        pull: () => Promise.reject(new Error('socket hang up')),
      })
    const server = underContract(createSyncServer({...base, models: {desk: scripted(broken)}}))
    expect((await readStream(await ask(server, {prompt})).rest()).at(-1)).toMatchObject({
      type: 'error',
      error: {reason: 'refused', message: expect.not.stringContaining('socket hang up')},
    })
  })

  test('a reader that goes away aborts the call upstream, so nobody pays for words that nobody reads', async () => {
    let aborted = false
    const endless: Script = ({abortSignal}) => {
      abortSignal?.addEventListener('abort', () => {
        aborted = true
      })
      return new ReadableStream({
        pull: async controller => {
          await new Promise(resolve => setTimeout(resolve, 5))
          controller.enqueue({type: 'text-delta', id: 't', delta: '.'})
        },
      })
    }
    const server = underContract(createSyncServer({...base, models: {desk: scripted(endless)}}))
    const host = await serveNode(server, {port: 0})
    const leaving = new AbortController()
    const response = await fetch(`${host.url}/v1/models/desk/stream`, {
      method: 'POST',
      headers: headersOf(who),
      body: JSON.stringify({prompt}),
      signal: leaving.signal,
    })
    await readStream(response).next()
    leaving.abort()
    await expect.poll(() => aborted).toBe(true)
    await host.close()
  })

  test.each([
    ['an unknown model', 'else', {prompt}, 404],
    ['a model named like an object method', 'constructor', {prompt}, 404],
    ['no prompt', 'desk', {}, 400],
    [
      'a file',
      'desk',
      {prompt: [{role: 'user', content: [{type: 'file', data: {'0': 1}, mediaType: 'image/png'}]}]},
      400,
    ],
    ['an unknown role', 'desk', {prompt: [{role: 'root', content: 'x'}]}, 400],
  ])('%s is refused before the model is called', async (_, name, body, status) => {
    const model = scripted(() => streamOf(parts))
    const server = underContract(createSyncServer({...base, models: {desk: model}}))
    expect((await ask(server, body, name)).status).toBe(status)
    expect(model.calls).toEqual([])
  })
})
