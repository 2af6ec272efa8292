import type {LanguageModelV4CallOptions} from '@ai-sdk/provider'
import {describe, expect, test} from 'vitest'
import {createSyncServer, type LogLine, type ModelAllowance} from '../../sync-server/index.ts'
import {ended, type Streamed, streamingModel, uncounted, words} from '../support/streaming-model.ts'
import {headersOf, trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {readStream} from './support/read-stream.ts'

const database = testDatabase()
const prompt = [{role: 'user', content: [{type: 'text', text: 'Hello'}]}]
type Part = {type: string; error?: {reason: string; message: string}; finishReason?: {unified: string}}

async function ask(
  body: object,
  {
    allow,
    answer = [...words('Hi.'), ended()],
    limits = {},
  }: {allow?: ModelAllowance; answer?: Streamed; limits?: object} = {},
) {
  const lines: LogLine[] = []
  const model = streamingModel(() => answer)
  const server = underContract(
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
      models: {desk: {model, ...(allow && {allow})}},
      limits: {models: limits},
      log: line => lines.push(line),
    }),
  )
  const response = await server.app.request('/v1/models/desk/stream', {
    method: 'POST',
    headers: headersOf({tenant: 'requests', subject: 'ana'}),
    body: JSON.stringify({prompt, ...body}),
  })
  const {status} = response
  const text = status === 200 ? '' : await response.text()
  const parts = status === 200 ? await readStream(response).rest<Part>() : []
  return {status, text, parts, sent: model.calls[0] as LanguageModelV4CallOptions | undefined, lines}
}

describe('what a device may ask of a model', () => {
  test.each<[string, object, string]>([
    ['another model', {providerOptions: {gateway: {model: 'other'}}}, 'providerOptions.gateway.model'],
    [
      'a costly effort',
      {providerOptions: {openai: {reasoningEffort: 'high'}}},
      'providerOptions.openai.reasoningEffort',
    ],
    ['a key of a prototype', {providerOptions: {constructor: {name: 'x'}}}, 'providerOptions.constructor.name'],
    [
      'a tool of the provider',
      {tools: [{type: 'provider', id: 'openai.web_search', name: 'web_search', args: {}}]},
      'tools.0',
    ],
    [
      'too many tools',
      {tools: Array.from({length: 129}, (_, i) => ({type: 'function', name: `t${i}`, inputSchema: {}}))},
      'tools',
    ],
    [
      'tools without an end',
      {tools: [{type: 'function', name: 't', description: 'x'.repeat(300_000), inputSchema: {}}]},
      'tools',
    ],
  ])('[BUD-1] %s is refused by name before anything is paid', async (_, body, field) => {
    const {status, text, sent} = await ask(body)
    expect(status).toBe(400)
    expect(JSON.parse(text).error).toMatchObject({code: 'bad_input', message: expect.stringContaining(field)})
    expect(sent).toBeUndefined()
  })

  test('[BUD-1] nothing that costs or routes is passed on from anywhere in a request', async () => {
    const marked = {providerOptions: {anthropic: {cacheControl: {type: 'ephemeral'}}}}
    const {status, sent} = await ask({
      headers: {authorization: 'mine'},
      model: 'other',
      modelId: 'other',
      reasoning: 'max',
      maxOutputTokens: 10_000_000,
      tools: [{type: 'function', name: 'look', inputSchema: {type: 'object'}, strict: true, ...marked}],
      prompt: [
        {role: 'system', content: 'Be brief.', ...marked},
        {role: 'user', content: [{type: 'text', text: 'Hello', ...marked}], ...marked},
        {
          role: 'assistant',
          content: [
            {type: 'reasoning', text: 'hm', providerOptions: {anthropic: {signature: 's', cacheControl: {}}}},
            {type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {}},
          ],
          ...marked,
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c',
              toolName: 'look',
              output: {type: 'json', value: {}, ...marked},
              ...marked,
            },
          ],
        },
      ],
    })
    expect(status).toBe(200)
    const text = JSON.stringify(sent)
    for (const word of ['cacheControl', 'authorization', 'other', 'strict', '"max"']) expect(text).not.toContain(word)
    expect(sent?.maxOutputTokens).toBe(65_536)
    // What the provider signed must come back to it.
    expect(text).toContain('"signature":"s"')
  })

  test('[BUD-1] an offer lists what else it takes', async () => {
    const allow = {
      maxOutputTokens: 500,
      providerOptions: {openai: ['reasoningEffort']},
      providerTools: ['openai.web_search'],
      reasoning: true,
    }
    const tool = {type: 'provider', id: 'openai.web_search', name: 'web_search', args: {}}
    const options = {openai: {reasoningEffort: 'low'}}
    const {sent} = await ask({providerOptions: options, tools: [tool], reasoning: 'low'}, {allow})
    expect(sent).toMatchObject({providerOptions: options, tools: [tool], reasoning: 'low', maxOutputTokens: 500})
  })
})

describe('what a provider gives', () => {
  test.each<[string, Streamed]>([
    ['V4 says interrupted', [...words('half'), ended('interrupted', uncounted)]],
    ['V3 says other, without a count', [...words('half'), ended('other', uncounted)]],
    ['it ends without a finish', words('half')],
  ])('[LOG-6] a stream that is cut is no reply, however it says so: %s', async (_, answer) => {
    const {parts} = await ask({}, {answer})
    expect(parts.at(-1)).toMatchObject({type: 'error', error: {reason: 'broken', retryable: true}})
    expect(parts.some(({type}) => type === 'finish')).toBe(false)
  })

  test('[BUD-1] a reply without end is cut at the limits, and what is paid is kept', async () => {
    const answer = [...Array.from({length: 50}, (_, i) => words(`${i}`, `t${i}`)).flat(), ended()]
    const {parts} = await ask({}, {answer, limits: {parts: 10}})
    expect(parts).toHaveLength(11)
    expect(parts.at(-1)).toMatchObject({type: 'finish', finishReason: {unified: 'length'}})
  })

  test('[VIEW-5] the words of a provider stay with the server', async () => {
    const secret = 'organization org-4711 at https://internal.example'
    const error = Object.assign(new Error(`No access for ${secret}`), {statusCode: 403, isRetryable: false})
    const {status, text, lines} = await ask({}, {answer: {throws: error}})
    expect(status).toBe(502)
    expect(text).not.toContain('org-4711')
    expect(JSON.stringify(lines)).toContain('org-4711')
  })

  test('[VIEW-5] what it says of a prompt is not logged either', async () => {
    const error = Object.assign(new Error('Bad prompt: my diagnosis is X'), {statusCode: 400, isRetryable: false})
    const {text, lines} = await ask({}, {answer: {throws: error}})
    expect(text + JSON.stringify(lines)).not.toContain('diagnosis')
    expect(JSON.stringify(lines)).toContain('refused 400')
  })
})

test.each<[string, unknown, string]>([
  ['the name of a model', 'openai/gpt-5', 'got the name'],
  ['a model of version 2', {specificationVersion: 'v2', provider: 'p', modelId: 'm', doStream: null}, '"v2"'],
  ['a plain object', {doStream: null}, 'without a specificationVersion'],
])('[PIN-1] %s is refused when the server starts', (_, model, why) => {
  const start = () =>
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
      models: {desk: model as never},
    })
  expect(start).toThrow(why)
})
