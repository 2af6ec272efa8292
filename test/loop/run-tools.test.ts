import {describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineTool} from '../../runtime/loop/define.ts'
import {runTool, type ToolFunction} from '../../runtime/loop/run-tools.ts'
import type {FactReading} from '../../runtime/protocol/fact.ts'
import {cast} from '../support/events.ts'

const {session, run, read} = cast()
const tool = defineTool({name: 'look', description: 'x', effect: 'read', input: z.strictObject({orderId: z.string()})})
const call = {
  id: read,
  run,
  tool: 'look',
  effect: 'read' as const,
  input: {orderId: 'A17'},
  fault: null,
  place: 0,
  called: true,
}
const never = new AbortController().signal

const factOf = (key: string): FactReading | null =>
  key === 'order/none' ? null : {key, value: 1, version: `v-${key}`, source: 'server', ageMs: 0}

function runWith(implementation: ToolFunction | undefined, change: {deadlineMs?: number; signal?: AbortSignal} = {}) {
  return runTool({
    call,
    tool,
    implementation,
    deadlineMs: 60_000,
    signal: never,
    readBlob: async () => new Uint8Array([1, 2, 3]),
    readWhole: async reference => `whole of ${reference}`,
    readFact: async key => factOf(key),
    readFacts: async keys => keys.map(factOf),
    context: {session, run, slots: {read: () => ({})}},
    ...change,
  })
}

const table: [string, ToolFunction | undefined, string, unknown][] = [
  ['a value', () => ({cents: 1}), 'ok', {cents: 1}],
  ['nothing', () => undefined, 'ok', null],
  ['a promise', async () => 'later', 'ok', 'later'],
  [
    'a throw',
    () => {
      throw new Error('no such order')
    },
    'error',
    {error: 'no such order'},
  ],
  ['a throw of no error', () => Promise.reject('plain'), 'error', {error: 'plain'}],
  ['a value that JSON cannot hold', () => ({at: new Date()}), 'error', {error: expect.stringContaining('got Date')}],
  ['a number that JSON would change', () => 2 ** 60, 'error', {error: expect.stringContaining('an integer within')}],
  ['no implementation', undefined, 'error', {error: expect.stringContaining('no implementation')}],
]

describe('a tool', () => {
  test.each(table)(
    '[LOG-4] that gives %s has exactly one result that can be stored',
    async (_, implementation, outcome, output) => {
      expect(await runWith(implementation)).toEqual({result: {call: read, outcome, output}, blobs: []})
    },
  )

  test('[BUD-1] that hangs is answered at its deadline, and is told', async () => {
    let told: AbortSignal | null = null
    const hanging: ToolFunction = (_, {signal}) => {
      told = signal
      return new Promise(() => undefined)
    }
    const {result} = await runWith(hanging, {deadlineMs: 5})
    expect(result).toMatchObject({outcome: 'error', output: {error: 'look did not answer within 5 ms'}})
    expect(told).toMatchObject({aborted: true})
  })

  test('[RUN-7] whose run was ended has no result at all, before and during', async () => {
    const stop = new AbortController()
    const under = runWith(() => new Promise(() => undefined), {signal: stop.signal})
    stop.abort(new Error('the run was ended'))
    await expect(under).rejects.toThrow('the run was ended')
    let ran = false
    const after = runWith(
      () => {
        ran = true
      },
      {signal: stop.signal},
    )
    await expect(after).rejects.toThrow('the run was ended')
    expect(ran).toBe(false)
  })

  test('[OP-2] that read facts leaves their versions, also when it then fails; unknown facts leave none', async () => {
    const reading: ToolFunction = async (_, {facts}) => {
      await facts.read('order/A17')
      await facts.read('order/none')
      throw new Error('too late')
    }
    const {result} = await runWith(reading)
    expect(result).toMatchObject({outcome: 'error', basis: {'order/A17': 'v-order/A17'}})
  })
})
