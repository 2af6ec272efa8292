import {afterAll, beforeAll, describe, expect, test, vi} from 'vitest'
import {commonMemoryRules, type NodeRuntime, openRuntime, ruleExtractor} from '../../runtime/node.ts'
import type {MemoryRecord} from '../../runtime/protocol/memory.ts'
import type {MemoryView} from '../../runtime/protocol/memory-view.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk} from '../support/desk.ts'

let runtime: NodeRuntime
let item: MemoryRecord
let before: MemoryView
beforeAll(async () => {
  runtime = await openRuntime({
    agent: {...desk, tools: []},
    model: scriptedModel([{text: 'Noted.'}]),
    tools: {},
    dataDir: 'memory://',
    memory: {extractor: ruleExtractor(commonMemoryRules)},
  })
  const session = await runtime.openSession({agent: 'desk'})
  await session.send('I prefer store credit.')
  await vi.waitUntil(async () => (await runtime.memory.list()).entries.length === 1)
  before = await runtime.memory.list()
  item = before.entries[0]!.item
})
afterAll(() => runtime.close())

const calls: [string, (memory: NodeRuntime['memory']) => unknown, string][] = [
  [
    'forget, undoMs misspelt',
    m => m.forget(item.id, {undoms: 6000} as never),
    'memory.forget.undoms: expected no such',
  ],
  ['forget, null as options', m => m.forget(item.id, null as never), 'memory.forget: expected an object, got null'],
  ['forget, a number as options', m => m.forget(item.id, 6000 as never), 'memory.forget: expected an object, got 6000'],
  [
    'forget, undoMs of a text',
    m => m.forget(item.id, {undoMs: '6000' as never}),
    'memory.forget.undoMs: expected a number',
  ],
  [
    'forget, undoMs of null',
    m => m.forget(item.id, {undoMs: null as never}),
    'memory.forget.undoMs: expected a number',
  ],
  [
    'forget, undoMs of NaN',
    m => m.forget(item.id, {undoMs: Number.NaN}),
    'memory.forget.undoMs: expected a number, got NaN',
  ],
  [
    'forget, undoMs of -1',
    m => m.forget(item.id, {undoMs: -1}),
    'memory.forget.undoMs: expected a number of at least 0',
  ],
  [
    'forget, undoMs of 60,001',
    m => m.forget(item.id, {undoMs: 60_001}),
    'memory.forget.undoMs: expected at most 60000',
  ],
  ['forget, endless undoMs', m => m.forget(item.id, {undoMs: Infinity}), 'memory.forget.undoMs: expected a number'],
  ['forget, no id', m => m.forget(undefined as never), 'memory.forget.id: expected a string, got undefined'],
  ['forget, the item for its id', m => m.forget(item as never), 'memory.forget.id: expected a string, got an object'],
  ['forget, an id of another kind', m => m.forget('evt_1'), 'memory.forget.id: expected a memory id'],
  ['correct, nothing', m => (m.correct as () => unknown)(), 'memory.correct.shown: expected an object, got undefined'],
  ['correct, null', m => m.correct(null as never, 'x'), 'memory.correct.shown: expected an object, got null'],
  ['correct, the id for the item', m => m.correct(item.id as never, 'x'), 'memory.correct.shown: expected an object'],
  ['correct, no revision', m => m.correct({id: item.id} as never, 'x'), 'memory.correct.shown.revision: expected the'],
  [
    'correct, no text',
    m => m.correct(item, undefined as never),
    'memory.correct.text: expected a string, got undefined',
  ],
  ['correct, a blank text', m => m.correct(item, '  '), 'memory.correct.text: expected a text that is not blank'],
  [
    'correct, a long text',
    m => m.correct(item, 'x'.repeat(1001)),
    'memory.correct.text: expected at most 1000 characters',
  ],
  ['accept, a symbol', m => m.accept(Symbol('x') as never), 'memory.accept.id: expected a string, got a symbol'],
  ['accept, a number', m => m.accept(42 as never), 'memory.accept.id: expected a string, got 42'],
  ['recall, nothing', m => m.recall(undefined as never), 'memory.recall: expected an object, got undefined'],
  ['recall, a text', m => m.recall('refunds' as never), 'memory.recall: expected an object, got a string'],
  ['recall, query misspelt', m => m.recall({qeury: 'refunds'} as never), 'memory.recall'],
  ['recall, limit of a fraction', m => m.recall({query: 'x', limit: 1.5}), 'memory.recall.limit: expected 1 to 50'],
  ['recall, limit of 51', m => m.recall({query: 'x', limit: 51}), 'memory.recall.limit: expected 1 to 50'],
  ['subscribe, nothing', async m => m.subscribe(undefined as never), 'memory.subscribe: expected a function'],
  ['subscribe, an object', async m => m.subscribe({} as never), 'memory.subscribe: expected a function'],
]

describe('[MEM-3] an invalid argument of memory is refused by its name, and nothing is changed', () => {
  test.each(calls)('%s', async (_, call, message) => {
    await expect((async () => call(runtime.memory))()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(message),
    })
    expect(await runtime.memory.list()).toEqual(before)
  })
})
