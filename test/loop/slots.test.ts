import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {
  defineAgent,
  defineTool,
  type LocalToolContext,
  type NodeRuntime,
  openRuntime,
  type ToolContext,
} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import type {Slots} from '../../runtime/protocol/slots.ts'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'

const input = z.strictObject({patch: z.record(z.string(), z.any()), fail: z.boolean().optional()})
const keep = defineTool({name: 'keep', description: 'Keeps something.', effect: 'local', input})
const recall = defineTool({name: 'recall', description: 'Reads.', effect: 'read', input: z.strictObject({})})
const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: [keep, recall]})

const keeping = (patch: Slots, fail = false): ScriptedStep => ({calls: [{tool: 'keep', input: {patch, fail}}]})
const recalling: ScriptedStep = {calls: [{tool: 'recall', input: {}}]}
const done: ScriptedStep = {text: 'Done.'}

let shop: TestServer
const open: NodeRuntime[] = []
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(async () => {
  for (const runtime of open) await runtime.close()
  await shop.close()
})

async function device(steps: ScriptedStep[]) {
  const runtime = await openRuntime({
    agent,
    model: scriptedModel(steps),
    tools: {
      keep: ({patch, fail}, {slots}: LocalToolContext) => {
        slots.patch({first: true})
        slots.patch(patch)
        if (fail) throw new Error('half way')
        return slots.read()
      },
      recall: (_, {slots}: ToolContext) => slots.read(),
    },
    dataDir: 'memory://',
    sync: {link: await shop.link('maya'), token: await shop.token('maya')},
    retryDelayMs: 1,
  })
  open.push(runtime)
  return runtime
}

async function say(session: Session, text = 'Go.') {
  await session.send(text)
  return await until(session, view => view.settled && view.pending === 0)
}

const outputs = (view: Awaited<ReturnType<typeof say>>) =>
  view.entries.flatMap(entry => (entry.type === 'tool' ? [entry.result?.output] : []))

async function kinds(runtime: NodeRuntime, session: string): Promise<string[]> {
  const {rows} = await runtime.db.query<{kind: string}>(
    'select kind from holdfast_events where session = $1 order by place, device_seq',
    [session],
  )
  return rows.map(({kind}) => kind)
}

describe('slots of a session', () => {
  test('[WRK-1] a patch is one event beside the result of its call; a failed tool leaves no trace of it', async () => {
    const runtime = await device([keeping({order: 'A17'}), keeping({order: 'B22'}, true), recalling, done])
    const session = await runtime.openSession({agent: 'desk'})
    const view = await say(session)
    const kept = {first: true, order: 'A17'}
    expect(outputs(view)).toEqual([kept, {error: 'half way'}, kept])
    const log = await kinds(runtime, session.id)
    expect(log.filter(kind => kind === 'slots.patched')).toHaveLength(1)
    expect(log[log.indexOf('slots.patched') + 1]).toBe('tool.returned')
  })

  test('[WRK-1] a tool that keeps too much is told so, and the run goes on', async () => {
    const runtime = await device([keeping({big: 'x'.repeat(20_000)}), done])
    const view = await say(await runtime.openSession({agent: 'desk'}))
    expect(outputs(view)).toEqual([{error: expect.stringContaining('16384')}])
    expect(view.status).toBe('completed')
  })

  test('[VIEW-5] what is shaped like a credential does not get into them', async () => {
    const canary = `sk-${'slots'}-4f9aK2mQ8rT1vX7zB3nD`
    const runtime = await device([keeping({note: `use ${canary}`}), done])
    const view = await say(await runtime.openSession({agent: 'desk'}))
    expect(outputs(view)).toEqual([{first: true, note: 'use [removed]'}])
    const {rows} = await runtime.db.query<{body: string}>(
      "select body from holdfast_events where kind = 'slots.patched'",
    )
    expect(JSON.stringify(rows)).not.toContain(canary)
  })

  test('[WRK-3] a retry goes on with the slots as of the last confirmed step', async () => {
    const busy: ScriptedStep = {error: new Error('busy')}
    const runtime = await device([keeping({step: 1}), busy, busy, busy, recalling, done])
    const session = await runtime.openSession({agent: 'desk'})
    expect((await say(session)).status).toBe('failed_retryable')
    await session.retry()
    const view = await until(session, ({status, settled}) => settled && status === 'completed')
    expect(outputs(view).at(-1)).toEqual({first: true, step: 1})
  })

  test('[WRK-3] [WRK-4] a fork, and a fork of it, have the slots as of their event; another session has none', async () => {
    const runtime = await device([
      keeping({n: 1}),
      done,
      keeping({n: 2, later: true}),
      done,
      recalling,
      keeping({n: 3}),
      done,
      recalling,
      done,
      recalling,
      done,
    ])
    const session = await runtime.openSession({agent: 'desk'})
    const asOf = (await say(session)).head
    await say(session)

    const branch = await session.fork({after: asOf})
    const branched = await say(branch)
    expect(outputs(branched).slice(-2)).toEqual([
      {first: true, n: 1},
      {first: true, n: 3},
    ])
    const second = await branch.fork({after: branched.head})
    expect(outputs(await say(second)).at(-1)).toEqual({first: true, n: 3})
    expect(outputs(await say(await runtime.openSession({agent: 'desk'})))).toEqual([{}])

    const {rows} = await shop.db.query<{kind: string}>(
      "select kind from hf_events where session in ($1, $2) and kind = 'session.forked'",
      [branch.id, second.id],
    )
    expect(rows).toHaveLength(2)
  })
})
