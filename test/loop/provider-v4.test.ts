import {createServer, type Server} from 'node:http'
import type {AddressInfo} from 'node:net'
import {createOpenAICompatible} from 'openai-compatible-v4'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {type LocalDevice, localSession, openLocalDevice} from '../support/local-session.ts'

let device: LocalDevice
let server: Server
const bodies: {messages: {role: string}[]}[] = []
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({id: 'x', object: 'chat.completion.chunk', model: 'm', choices: [{index: 0, delta, finish_reason: finish}]})}\n\n`
const usage = `data: ${JSON.stringify({id: 'x', model: 'm', choices: [], usage: {prompt_tokens: 20, completion_tokens: 4, total_tokens: 24, prompt_tokens_details: {cached_tokens: 12}}})}\n\n`
/** Answers in their order: cut in mid-sentence, refused as too long, whole. */
const answers: {status: number; text: string}[] = [
  {status: 200, text: chunk({role: 'assistant', content: 'Your order is on'})},
  {
    status: 400,
    text: JSON.stringify({
      error: {message: 'the request exceeds the available context size', type: 'exceed_context_size_error', code: 400},
    }),
  },
  {
    status: 200,
    text: `${chunk({role: 'assistant', content: 'It is on its way.'})}${chunk({}, 'stop')}${usage}data: [DONE]\n\n`,
  },
]

beforeAll(async () => {
  device = await openLocalDevice()
  server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const {status, text} = answers[bodies.length] ?? {status: 500, text: ''}
    bodies.push(JSON.parse(Buffer.concat(pieces).toString()))
    response.writeHead(status, {'content-type': status === 200 ? 'text/event-stream' : 'application/json'}).end(text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  server.close()
  await device.close()
})

test('[LOG-6] [VIEW-4] a real provider of specification v4 is cut, refuses a long prompt, and then answers', async () => {
  const {port} = server.address() as AddressInfo
  const provider = createOpenAICompatible({name: 'local', baseURL: `http://127.0.0.1:${port}/v1`, includeUsage: true})
  const model = provider('m')
  expect(model.specificationVersion).toBe('v4')
  const desk = await localSession(device, model)
  await desk.session.send('Where is my order? '.repeat(300))
  const view = await desk.session.settled()
  expect(view.status).toBe('completed')
  expect(view.entries.flatMap(entry => (entry.type === 'reply' ? [entry.text] : []))).toEqual(['It is on its way.'])
  expect(bodies).toHaveLength(3)
  const kinds = (await desk.events()).map(({kind}) => kind)
  expect(kinds).toContain('view.refused')
  const replied = (await desk.events()).find(event => event.kind === 'model.replied')
  expect(replied?.data).toMatchObject({usage: {inputTokens: 20, outputTokens: 4, cachedTokens: 12}})
  await desk.close()
})
