import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {createSyncServer, type SyncServerOptions} from '../../sync-server/index.ts'
import {type CountingProvider, type Misdeed, openCountingProvider} from '../support/counting-provider.ts'
import {headersOf, trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {readStream} from './support/read-stream.ts'

type Failure = {message: string; reason: string; retryable: boolean; retryAfterMs?: number}

const database = testDatabase()
let provider: CountingProvider
beforeAll(async () => {
  provider = await openCountingProvider()
})
afterAll(() => provider.close())

const filtered = [{delta: {role: 'assistant', content: 'I '}}, {delta: {}, finish_reason: 'content_filter'}]
const policy = {error: {message: 'The prompt was filtered.', code: 'content_filter'}}
const later = {'retry-after': '7'}

async function failureAfter(misdeed: Misdeed, options: Partial<SyncServerOptions> = {}): Promise<Failure> {
  provider.misbehave(misdeed)
  const server = underContract(
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
      models: {desk: provider.model},
      ...options,
    }),
  )
  const prompt = [{role: 'user', content: [{type: 'text', text: 'Hello'}]}]
  const response = await server.app.request('/v1/models/desk/stream', {
    method: 'POST',
    headers: headersOf({tenant: 'errors', subject: 'ana'}),
    body: JSON.stringify({prompt}),
  })
  if (response.status === 502) {
    const {message, details} = (await response.json()).error
    return {message, ...details}
  }
  const last = (await readStream(response).rest<{type: string; error: Failure}>()).at(-1)
  expect(last?.type).toBe('error')
  return last!.error
}

describe('a provider that fails', () => {
  const cases: [string, Misdeed, Partial<Failure>][] = [
    ['says "too many requests" and when', {status: 429, headers: later}, {reason: 'rate_limited', retryAfterMs: 7000}],
    ['says "too many requests" and not when', {status: 429}, {reason: 'rate_limited', retryable: true}],
    ['is overloaded', {status: 503, headers: later}, {reason: 'unavailable', retryable: true, retryAfterMs: 7000}],
    ['breaks down', {status: 500}, {reason: 'unavailable', retryable: true}],
    ['takes too long itself', {status: 408}, {reason: 'timeout', retryable: true}],
    ['does not like the request', {status: 400, headers: later}, {reason: 'refused', retryable: false}],
    ['does not know the key', {status: 401}, {reason: 'refused', retryable: false}],
    ['does not know the model', {status: 404}, {reason: 'refused', retryable: false}],
    ['filters the prompt', {status: 400, body: policy}, {reason: 'content_filter', retryable: false}],
    ['breaks the connection in the middle', {breakAfter: 2}, {reason: 'broken', retryable: true}],
  ]
  test.each(cases)(
    '[BUD-1] because it %s is told so that the device knows what to do',
    async (_, misdeed, expected) => {
      const failure = await failureAfter(misdeed)
      expect(failure).toMatchObject(expected)
      if (!expected.retryable) expect(failure.retryAfterMs).toBe(expected.retryAfterMs)
    },
  )

  test('[CUS-5] by saying nothing is given up at the deadline, as something that may pass', async () => {
    const limits = {models: {generationMs: 50}}
    expect(await failureAfter('silent', {limits})).toMatchObject({reason: 'timeout', retryable: true})
    await expect.poll(() => provider.calls.at(-1)?.ended).toBe('aborted')
  })

  test('[CUS-5] by falling silent is given up, apart from the bound on the whole', async () => {
    const limits = {models: {firstPartMs: 50, silenceMs: 50}}
    expect(await failureAfter('silent', {limits})).toMatchObject({reason: 'timeout', retryable: true})
    await expect.poll(() => provider.calls.at(-1)?.ended).toBe('aborted')
  })

  test('[VIEW-4] by refusing a long prompt is told so with its numbers, and without its words', async () => {
    const message =
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 12000 tokens."
    const body = {error: {message, code: 'context_length_exceeded'}}
    const failure = await failureAfter({status: 400, body})
    expect(failure).toMatchObject({retryable: false, overflow: {limit: 8192, counted: 12000}})
    expect(failure.message).toBe('The prompt is longer than the model takes.')
  })

  test('[BUD-1] an HTTP date says when to come back', async () => {
    const date = new Date(Date.now() + 60_000).toUTCString()
    const failure = await failureAfter({status: 503, headers: {'retry-after': date, 'retry-after-ms': 'soon'}})
    expect(failure.retryAfterMs).toBeGreaterThan(50_000)
  })

  test('a filter in the middle of a reply is the end of that reply, as the provider says', async () => {
    provider.misbehave({reply: filtered})
    const server = underContract(
      createSyncServer({
        store: database.store,
        authenticate: trustingAuth,
        facts: {read: async () => null},
        operations: {},
        models: {desk: provider.model},
      }),
    )
    const response = await server.app.request('/v1/models/desk/stream', {
      method: 'POST',
      headers: headersOf({tenant: 'errors', subject: 'ana'}),
      body: JSON.stringify({prompt: [{role: 'user', content: [{type: 'text', text: 'Hello'}]}]}),
    })
    const last = (await readStream(response).rest<{type: string; finishReason?: {unified: string}}>()).at(-1)
    expect(last).toMatchObject({type: 'finish', finishReason: {unified: 'content-filter'}})
  })
})
