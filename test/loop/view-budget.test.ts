import type {LanguageModelV3Prompt} from '@ai-sdk/provider'
import {describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {buildView, prepareView} from '../../runtime/loop/prepare-view.ts'
import {nothingBeside} from '../../runtime/loop/view-sections.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {estimateTokens} from '../../runtime/protocol/estimate-tokens.ts'
import type {LoggedEvent} from '../../runtime/protocol/event.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import {scribe} from '../support/events.ts'

const look = defineTool({name: 'look', description: 'x', effect: 'read', input: z.strictObject({id: z.string()})})
const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: [look]})
const usage = {inputTokens: 1, outputTokens: 1}
const message = (text: string) => event('message.posted', {text})
const reply = (content: object[], finish = 'tool-calls') => event('model.replied', {content, finish, usage})
const call = (providerCall: string, more: object = {}) => ({
  type: 'call',
  call: env.id('call'),
  providerCall,
  tool: 'look',
  input: {id: 'x'},
  ...more,
})
const returned = (id: string, output: Json, outcome = 'ok') => event('tool.returned', {call: id, outcome, output})

function event(kind: 'message.posted' | 'model.replied' | 'tool.returned', data: object): LoggedEvent {
  return {...scribe().event(kind), id: env.id('event'), data} as LoggedEvent
}

function idsIn(prompt: LanguageModelV3Prompt): {called: string[]; answered: string[]} {
  const parts = prompt.flatMap(({content}) => (typeof content === 'string' ? [] : [...content]))
  return {
    called: parts.flatMap(part => (part.type === 'tool-call' ? part.toolCallId : [])),
    answered: parts.flatMap(part => (part.type === 'tool-result' ? part.toolCallId : [])),
  }
}

describe('the ids of calls', () => {
  const odd = ['dup', 'dup', '', '', 'x'.repeat(400), 'mit Leerzeichen ü', 'functions.look:0']
  test('[VIEW-1] are ours, unique, and of a form that every provider takes, in each call and its result', () => {
    const calls = odd.map(id => call(id))
    const events = [message('q'), reply(calls), ...calls.map(one => returned(one.call, one.providerCall))]
    const {called, answered} = idsIn(buildView(agent, events).prompt)
    expect(called).toHaveLength(odd.length)
    expect(new Set(called).size).toBe(odd.length)
    expect(answered).toEqual(called)
    for (const id of called) expect(id).toMatch(/^[A-Za-z0-9]{9}$/)
  })

  test('[VIEW-1] of a provider that attached something to its call stay its own, once', () => {
    const own = {providerMetadata: {openai: {itemId: 'fc_1'}}}
    const calls = [call('call_1', own), call('call_1', own), call('x'.repeat(60), own)]
    const events = [message('q'), reply(calls), ...calls.map(one => returned(one.call, 1))]
    const {called} = idsIn(buildView(agent, events).prompt)
    expect(called[0]).toBe('call_1')
    expect(new Set(called).size).toBe(3)
    for (const id of called) expect(id.length).toBeLessThanOrEqual(40)
  })

  test('[VIEW-2] an earlier construction shows them as they were', () => {
    const one = call('dup')
    const {called} = idsIn(buildView(agent, [message('q'), reply([one]), returned(one.call, 1)], undefined, 2).prompt)
    expect(called).toEqual(['dup'])
  })
})

test('[APP-5] a rejection is told in words, without the person who decided', () => {
  const one = call('a')
  const output = {by: 'omar@example.test', note: 'Too much.'}
  const {prompt} = buildView(agent, [message('q'), reply([one]), returned(one.call, output, 'denied')])
  const text = JSON.stringify(prompt)
  expect(text).not.toContain('omar')
  expect(text).toContain('A person rejected this')
  expect(text).toContain('Too much.')
})

describe('the budget of a view', () => {
  const beside = {...nothingBeside, viewTokens: 16_000}

  test('[VIEW-4] is kept by the newest step too: its results are shown by excerpts', () => {
    const calls = Array.from({length: 16}, (_, i) => call(`c${i}`))
    const results = calls.map((one, i) => returned(one.call, {rows: `row ${i} `.repeat(8000)}))
    const view = prepareView(agent, [message('Look at all.'), reply(calls), ...results], beside)
    expect(view.estimatedTokens).toBeLessThanOrEqual(16_000)
    expect(view.events).toHaveLength(18)
    expect(view.transforms).toContainEqual({part: 'turns', how: 'truncated'})
    // The same excerpts again from what the manifest records.
    const again = buildView(agent, [message('x')], {...beside, excerpt: view.excerpt})
    expect(again.estimatedTokens).toBeGreaterThan(0)
    expect(JSON.stringify(view.prompt)).toContain('characters in all')
  })

  test('[VIEW-4] each excerpt names the reference by which a tool reads the whole; construction 3 keeps its bytes', () => {
    const one = call('a')
    const long = 'word '.repeat(30_000)
    const [asked, said, result] = [message(long), reply([{type: 'text', text: long}, one]), returned(one.call, {long})]
    const events = [asked, said, result]
    const short = {...beside, excerpt: 64}
    const prompt = JSON.stringify(buildView(agent, events, short).prompt)
    for (const reference of [asked.id, `${said.id}#0`, result.id]) expect(prompt).toContain(`event:${reference} …]`)
    const before = JSON.stringify(buildView(agent, events, short, 3).prompt)
    expect(before).not.toContain('event:')
    expect(before).toContain('the middle is left out; ask for a smaller part to read more …]')
  })

  test('[LOG-5] an excerpt keeps the reference by which a blob is read', () => {
    const one = call('a')
    const ref = {$blob: `sha256:${'a'.repeat(64)}`, bytes: 90_000, type: 'text/plain'}
    const view = prepareView(
      agent,
      [message('q'), reply([one]), returned(one.call, {...ref, excerpt: 'word '.repeat(30_000)})],
      beside,
    )
    expect(JSON.stringify(view.prompt)).toContain(ref.$blob)
    expect(view.estimatedTokens).toBeLessThanOrEqual(16_000)
  })

  test.each([
    ['Han', '退款请求已经收到并正在处理中请稍候'],
    ['kana', 'ちゅうもんしたしなものがこわれていました'],
    ['Hangul', '주문한상품이파손되어도착했습니다환불'],
    ['emoji', '👍🏽🎉🚀👩‍👩‍👧'],
    ['Devanagari', 'मेरा ऑर्डर टूटा हुआ आया है'],
  ])('[VIEW-4] is kept by %s as well, which takes more tokens than Latin', (_, text) => {
    const events = Array.from({length: 12}, () => message(text.repeat(Math.ceil(5000 / text.length))))
    const view = prepareView(agent, events, beside)
    expect(view.estimatedTokens).toBeLessThanOrEqual(16_000)
    expect(JSON.stringify(view.prompt).length).toBeLessThan(28_000)
  })
})

test.each<[string, string, number, number]>([
  ['English', 'The quick brown fox jumps over the lazy dog and runs away. ', 11, 20],
  ['Han', '退款请求已经收到并正在处理', 10, 20],
  ['Hangul', '주문한 상품이 도착했습니다', 9, 20],
  ['Cyrillic', 'Заказ пришёл сломанным, верните деньги', 10, 26],
  ['Arabic', 'وصل الطلب مكسورا', 6, 18],
  ['digits', '1234567890', 4, 10],
  ['hex', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', 28, 50],
  ['base64', 'SGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0IGVuY29kZWQgdGV4dA==', 20, 45],
  ['emoji', '👍🎉🚀', 5, 12],
])('[VIEW-4] the estimate of %s is near what tokenizers count', (_, text, least, most) => {
  expect(estimateTokens(text)).toBeGreaterThanOrEqual(least)
  expect(estimateTokens(text)).toBeLessThanOrEqual(most)
})

test('[VIEW-4] what changes from step to step stands last: at least 90 % of the prompt stays a prefix', () => {
  const events: LoggedEvent[] = [message('Refund order A17, it arrived broken. '.repeat(10))]
  const prompts: string[] = []
  for (let step = 0; step < 24; step++) {
    const beside = {
      ...nothingBeside,
      viewTokens: 32_000,
      slots: {step, done: step % 3},
      documents: [{name: 'plan', text: `${step} steps done. `.repeat(8)}],
    }
    prompts.push(JSON.stringify(prepareView(agent, events, beside).prompt))
    const one = call(`c${step}`)
    events.push(reply([one]), returned(one.call, {rows: `row ${step} `.repeat(60)}))
  }
  const shares = prompts.slice(1).map((prompt, i) => commonPrefix(prompts[i] ?? '', prompt) / (prompts[i]?.length ?? 1))
  const kept = shares.reduce((sum, share) => sum + share, 0) / shares.length
  expect(kept).toBeGreaterThan(0.9)
})

function commonPrefix(one: string, other: string): number {
  let i = 0
  while (i < one.length && one[i] === other[i]) i++
  return i
}
