import type {LanguageModelV3, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import {describe, expect, test} from 'vitest'
import {callModel, type Reply} from '../../runtime/loop/model-port.ts'
import {buildView} from '../../runtime/loop/prepare-view.ts'
import {systemEnvironment as environment} from '../../runtime/platform/environment.ts'
import {readEvent} from '../../runtime/protocol/event.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk} from '../support/desk.ts'
import {scribe} from '../support/events.ts'

const usage = {
  inputTokens: {total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0},
  outputTokens: {total: 2, text: 2, reasoning: 0},
}
const finish: LanguageModelV3StreamPart = {type: 'finish', finishReason: {unified: 'stop', raw: undefined}, usage}
const toolCall = (toolName: string, input: string): LanguageModelV3StreamPart => ({
  type: 'tool-call',
  toolCallId: 'p1',
  toolName,
  input,
})

function streaming(parts: LanguageModelV3StreamPart[], end: 'close' | 'hang' | Error = 'close'): LanguageModelV3 {
  return {
    ...scriptedModel([]),
    doStream: async () => ({
      stream: new ReadableStream({
        start(controller) {
          for (const part of parts) controller.enqueue(part)
          if (end === 'close') controller.close()
          else if (end !== 'hang') controller.error(end)
        },
      }),
    }),
  }
}

const name = {
  session: environment.id('session'),
  run: environment.id('run'),
  step: environment.id('step'),
  attempt: 1,
  try: 1,
}

function ask(
  model: LanguageModelV3,
  signal = new AbortController().signal,
  onText = (_: string) => {},
): Promise<Reply> {
  return callModel({model, view: buildView(desk, []), tools: desk.tools, signal, environment, name, onText})
}

/** Whatever a model says, the log must be able to take it. */
function expectStorable(reply: Reply): void {
  expect(readEvent(scribe().envelope('model.replied', {data: reply}))).not.toHaveProperty('unreadable')
}

describe('a stream that is no answer', () => {
  const failures: [string, LanguageModelV3, object][] = [
    ['ends without its finish part', streaming([{type: 'text-start', id: 't'}]), {retryable: true}],
    ['is empty', streaming([]), {retryable: true}],
    ['reports an error', streaming([{type: 'error', error: new Error('overloaded')}, finish]), {retryable: true}],
    [
      'reports an error that will not pass',
      streaming([{type: 'error', error: Object.assign(new Error('bad key'), {isRetryable: false})}]),
      {retryable: false},
    ],
    ['breaks', streaming([], new TypeError('terminated')), {retryable: true}],
  ]
  test.each(failures)('[LOG-6] one that %s is a failed call, not an empty turn', async (_, model, details) => {
    await expect(ask(model)).rejects.toMatchObject({code: 'model_failed', details})
  })

  test('[CUS-5] a model that ignores its signal is left at once, before and during its stream', async () => {
    const deaf: LanguageModelV3 = {...scriptedModel([]), doStream: () => new Promise(() => undefined)}
    for (const model of [deaf, streaming([{type: 'text-start', id: 't'}], 'hang')]) {
      const stop = new AbortController()
      const asked = ask(model, stop.signal)
      stop.abort(new Error('the run was ended'))
      await expect(asked).rejects.toThrow('the run was ended')
    }
  })
})

describe('calls', () => {
  const inputs: [string, string, string, unknown, string | undefined][] = [
    ['a good input', 'lookupOrder', '{"orderId":"A17"}', {orderId: 'A17'}, undefined],
    ['input that is not JSON', 'lookupOrder', '{orderId', '{orderId', 'is not JSON'],
    ['input of the wrong shape', 'lookupOrder', '{"orderId":7}', {orderId: 7}, 'orderId'],
    ['no input at all', 'lookupOrder', '', {}, 'orderId'],
    ['a field too many', 'lookupOrder', '{"orderId":"A","x":1}', {orderId: 'A', x: 1}, 'x'],
    ['a number that JSON cannot keep', 'lookupOrder', '{"orderId":1e400}', null, 'finite number'],
    ['a key that pollutes', 'lookupOrder', '{"__proto__":{"a":1}}', null, '__proto__'],
    ['an unknown tool', 'wipeDisk', '{}', {}, 'There is no tool named "wipeDisk"'],
    ['a tool named like a method', 'constructor', '{}', {}, 'There is no tool named'],
    ['a tool without a name', '', '{}', {}, 'There is no tool named ""'],
    ['a name without an end', 'x'.repeat(5000), '{}', {}, 'There is no tool named'],
  ]
  test.each(inputs)('[OP-7] %s', async (_, tool, input, kept, fault) => {
    const reply = await ask(streaming([toolCall(tool, input), finish]))
    expect(reply.content).toMatchObject([{type: 'call', input: kept, providerCall: 'p1'}])
    const part = reply.content[0]
    const said = part?.type === 'call' ? part.fault : undefined
    if (fault === undefined) expect(said).toBeUndefined()
    else expect(said).toContain(fault)
    expectStorable(reply)
  })
})

describe('what is kept', () => {
  test('[VIEW-1] text and reasoning in their order, with what the provider attached last', async () => {
    const heard: string[] = []
    const reply = await ask(
      streaming([
        {type: 'reasoning-start', id: 'r'},
        {type: 'reasoning-delta', id: 'r', delta: 'hm'},
        {type: 'text-start', id: 't'},
        {type: 'text-delta', id: 't', delta: 'Let '},
        {type: 'reasoning-end', id: 'r', providerMetadata: {acme: {signature: 's'}}},
        {type: 'text-delta', id: 't', delta: 'me.'},
        {type: 'text-end', id: 't'},
        finish,
      ]),
      undefined,
      text => heard.push(text),
    )
    expect(reply.content).toEqual([
      {type: 'reasoning', text: 'hm', providerMetadata: {acme: {signature: 's'}}},
      {type: 'text', text: 'Let me.'},
    ])
    expect(heard).toEqual(['Let ', 'Let me.'])
    expect(reply).toMatchObject({finish: 'stop', usage: {inputTokens: 3, outputTokens: 2}})
    expectStorable(reply)
  })

  test.each([[Number.NaN], [-1], [2.5], [undefined]])('[BUD-1] a count of %s tokens is not known', async total => {
    const odd = {...usage, inputTokens: {...usage.inputTokens, total}}
    const reply = await ask(streaming([{...finish, usage: odd} as LanguageModelV3StreamPart]))
    expect(reply.usage.inputTokens).toBeNull()
    expectStorable(reply)
  })
})
