import type {LanguageModelV3} from '@ai-sdk/provider'
import {describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {openRuntime} from '../../runtime/node.ts'
import type {Budgets} from '../../runtime/protocol/pin.ts'
import {retryAfterMs} from '../../runtime/protocol/retry-after.ts'
import {tellListeners} from '../../runtime/protocol/tell-listeners.ts'
import {thrownWords} from '../../runtime/protocol/thrown-words.ts'

const usage = {inputTokens: {total: 10}, outputTokens: {total: 5}}
const finish = {type: 'finish', finishReason: {unified: 'stop', raw: 'stop'}, usage}
const said = (delta: string, id = 't') => [
  {type: 'text-start', id},
  {type: 'text-delta', id, delta},
  {type: 'text-end', id},
]
const called = (text: string) => ({type: 'tool-call', toolCallId: 'c', toolName: 'echo', input: JSON.stringify({text})})

/** A provider that keeps to no specification: each call takes the next list of parts, the last one again and again. */
function looseModel(replies: readonly (readonly unknown[])[], before?: () => Promise<void>) {
  let calls = 0
  const doStream = async () => {
    const parts = replies[Math.min(calls++, replies.length - 1)] ?? []
    await before?.()
    const [first] = parts
    if (first instanceof Error) throw first
    const stream = new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part)
        controller.close()
      },
    })
    return {stream} as Awaited<ReturnType<LanguageModelV3['doStream']>>
  }
  const model: LanguageModelV3 = {
    specificationVersion: 'v3',
    provider: 'loose',
    modelId: 'loose',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('not used')),
    doStream,
  }
  return {model, paid: () => calls}
}

const echo = defineTool({name: 'echo', description: 'x', effect: 'read', input: z.strictObject({text: z.string()})})

async function openWith(
  model: LanguageModelV3,
  tool: (input: {text: string}) => unknown = input => input,
  budgets: Partial<Budgets> = {},
) {
  const agent = defineAgent({name: 'desk', version: '1', instructions: 'x', tools: [echo], budgets})
  const tools = {echo: async (input: {text: string}) => (await tool(input)) as string}
  const runtime = await openRuntime({agent, model, tools, dataDir: 'memory://', retryDelayMs: 1})
  return {runtime, session: await runtime.openSession({agent: 'desk'})}
}

async function replyTo(replies: readonly (readonly unknown[])[], tool?: (input: {text: string}) => unknown) {
  const {model, paid} = looseModel(replies)
  const {runtime, session} = await openWith(model, tool)
  await session.send('hello')
  const view = await session.settled()
  await runtime.close()
  return {view, paid: paid(), words: view.entries.flatMap(entry => ('text' in entry ? entry.text : []))}
}

describe('a paid reply is not lost for a field that a provider leaves out', () => {
  test.each<[string, unknown[]]>([
    ['a finish without usage', [...said('hi'), {type: 'finish', finishReason: {unified: 'stop', raw: 'stop'}}]],
    ['usage that is null', [...said('hi'), {...finish, usage: null}]],
    ['parts that are nothing', [null, undefined, {}, ...said('hi'), finish]],
    [
      'a delta without text',
      [{type: 'text-start', id: 't'}, {type: 'text-delta', id: 't'}, ...said('hi', 'u'), finish],
    ],
    ['a delta whose part never started', [{type: 'text-delta', id: 't', delta: 'hi'}, finish]],
  ])('[LOG-6] %s', async (_, parts) => {
    const {view, paid, words} = await replyTo([parts])
    expect({status: view.status, paid}).toEqual({status: 'completed', paid: 1})
    expect(words).toContain('hi')
  })

  test.each<[string, object, string]>([
    ['no id', {toolCallId: undefined}, 'ok'],
    ['an id that is a number', {toolCallId: 7}, 'ok'],
    ['no name', {toolName: undefined}, 'error'],
    ['no input', {input: undefined}, 'error'],
    ['input that is parsed already', {input: {text: 'a'}}, 'ok'],
    ['input that JSON cannot hold', {input: {text: 1n}}, 'error'],
  ])('[OP-7] a call with %s', async (_, odd, outcome) => {
    const {view, paid} = await replyTo([
      [{...called('a'), ...odd}, finish],
      [...said('end'), finish],
    ])
    expect({status: view.status, paid}).toEqual({status: 'completed', paid: 2})
    expect(view.entries.find(entry => entry.type === 'tool')).toMatchObject({result: {outcome}})
  })

  test('a reply of invisible characters is an empty one', async () => {
    const {words} = await replyTo([
      [...said(' \n\u200b'), finish],
      [...said('end'), finish],
    ])
    expect(words).toContain('The model gave an empty answer.')
    expect(words).toContain('end')
  })

  test.each([401, 402, 403])('after %i a person can retry, and nothing is tried by itself', async statusCode => {
    const refused = Object.assign(new Error('no'), {statusCode, isRetryable: false})
    const {view, paid} = await replyTo([[refused]])
    expect({status: view.status, paid}).toEqual({status: 'failed_retryable', paid: 1})
  })

  test('a success without a reply is tried again', async () => {
    const empty = Object.assign(new Error('no body'), {statusCode: 204, isRetryable: false})
    expect((await replyTo([[empty], [...said('end'), finish]])).view.status).toBe('completed')
  })
})

describe('a reply that no event can hold', () => {
  const long = 'ab 语言 '.repeat(60_000)

  test('[LOG-5] is kept whole beside its event and paid once', async () => {
    const {model, paid} = looseModel([[...said(long), finish]])
    const {runtime, session} = await openWith(model)
    await session.send('hello')
    const view = await session.settled()
    expect({status: view.status, paid: paid()}).toEqual({status: 'completed', paid: 1})
    const reply = view.entries.find(entry => entry.type === 'reply')
    const [ref] = reply?.type === 'reply' ? (reply.blobs ?? []) : []
    expect(ref).toMatchObject({type: 'text/plain'})
    expect(new TextDecoder().decode(await session.blob(ref!))).toBe(long)
    await session.send('once more')
    expect((await session.settled()).status).toBe('completed')
    await runtime.close()
  })

  test('[OP-7] a small call beside it is run', async () => {
    const {view, paid} = await replyTo([
      [...said(long), called('a'), finish],
      [...said('end'), finish],
    ])
    expect({status: view.status, paid}).toEqual({status: 'completed', paid: 2})
    expect(view.entries.find(entry => entry.type === 'tool')).toMatchObject({result: {outcome: 'ok'}})
  })
})

const selfTwice: unknown[] = []
selfTwice.push(selfTwice, selfTwice)

test.each<[string, () => unknown]>([
  ['throws what has no text', () => Promise.reject(Object.create(null))],
  ['returns a list of 4,294,967,295 items', () => Object.assign([], {length: 4_294_967_295})],
  ['returns a value that holds itself twice', () => selfTwice],
])('[LOG-7] a tool that %s gives an error to the model, and the run continues', async (_, tool) => {
  const {view} = await replyTo(
    [
      [called('a'), finish],
      [...said('end'), finish],
    ],
    tool,
  )
  expect(view.status).toBe('completed')
  expect(view.entries.find(entry => entry.type === 'tool')).toMatchObject({result: {outcome: 'error'}})
})

test('[BUD-2] a run that its bound stops before the first step is not started again for the same message', async () => {
  const {model, paid} = looseModel([[...said('end'), finish]])
  const {runtime, session} = await openWith(model, undefined, {wallMs: 1})
  await session.send('hello')
  await session.settled()
  // Sent after the first run has ended: the second message is answered by one more run, and then there is an end too.
  await session.send('once more')
  const view = await session.settled()
  expect(view.entries.filter(({type}) => type === 'message')).toHaveLength(2)
  expect(view.entries.filter(({type}) => type === 'notice').length).toBeLessThanOrEqual(2)
  expect(paid()).toBeLessThanOrEqual(2)
  await runtime.close()
})

test('[RUN-7] a cancel right after a message stops the run that the message begins', async () => {
  const {model} = looseModel([[...said('end'), finish]], () => new Promise(() => undefined))
  const {runtime, session} = await openWith(model)
  for (const message of ['first', 'second']) {
    await session.send(message)
    await Promise.all([session.cancel(), session.cancel()])
    expect((await session.settled()).status).toBe('cancelled')
  }
  await runtime.close()
})

test('a listener that throws at once, later, or in a promise keeps nothing from closing', async () => {
  const {model} = looseModel([[...said('end'), finish]])
  const {runtime, session} = await openWith(model)
  const fail = () => {
    throw new Error('listener')
  }
  runtime.subscribeSessions(fail)
  runtime.subscribeConnection(fail)
  runtime.memory.subscribe(fail)
  session.subscribe(fail)
  session.document('draft').subscribe(fail)
  tellListeners([() => Promise.reject(new Error('listener'))], undefined)
  await session.send('hello')
  expect((await session.settled()).status).toBe('completed')
  await expect(runtime.close()).resolves.toBeUndefined()
})

test('two Retry-After fields in one are the longer pause', () => {
  expect(retryAfterMs({'retry-after': '1, 2'}, 0)).toBe(2000)
  expect(retryAfterMs({'retry-after': 'Thu, 01 Jan 1970 00:00:03 GMT'}, 0)).toBe(3000)
})

test.each<[unknown, string]>([
  [undefined, 'It failed without saying why.'],
  [Object.create(null), 'It failed without saying why.'],
  ['words', 'words'],
  [{error: {message: 'Overloaded'}}, 'Overloaded'],
  [new TypeError(''), 'TypeError'],
])('what was thrown is put into words', (thrown, words) => {
  expect(thrownWords(thrown)).toBe(words)
})
