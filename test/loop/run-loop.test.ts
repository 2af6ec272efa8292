import type {PGlite} from '@electric-sql/pglite'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {fixedOwner} from '../../runtime/device/device-owner.ts'
import {openDeviceRuntime} from '../../runtime/device/device-runtime.ts'
import {localFeed} from '../../runtime/device/local-feed.ts'
import {foldDocument, readText} from '../../runtime/documents/shared-text.ts'
import {
  type AgentHost,
  defineAgent,
  defineTool,
  type LocalToolContext,
  type ModelSource,
} from '../../runtime/loop/define.ts'
import {createSessions} from '../../runtime/page/page-runtime.ts'
import {systemEnvironment as environment} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import type {DeviceStore, UnitOfWork} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {type ScriptedStep, said, scriptedModel} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'

let database: {db: PGlite; close(): Promise<void>}
let store: DeviceStore
beforeAll(async () => {
  database = await openNodeDatabase({dataDir: 'memory://'})
  store = await openPGliteStore(database.db, environment)
  await database.db.exec('create table written (text text unique)')
})
afterAll(() => database.close())

const look = defineTool({name: 'look', description: 'x', effect: 'read', input: z.strictObject({id: z.string()})})
const write = defineTool({name: 'write', description: 'x', effect: 'local', input: z.strictObject({text: z.string()})})
type Tools = {look?(input: {id: string}): unknown; write?(input: {text: string}, context: LocalToolContext): unknown}

const defaultTools: Required<Tools> = {
  look: ({id}) => ({id}),
  write: async ({text}, {sql, document}) => {
    await sql('insert into written values ($1)', [text])
    await document.write('draft', text)
    return {written: true}
  },
}

/** One session of a device without a server, on the database of this file. */
async function at(
  model: ModelSource,
  tools: Tools = {},
  budgets: {maxSteps?: number; maxToolCallsPerStep?: number} = {},
) {
  const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: [look, write], budgets})
  const feed = localFeed()
  let own: string | null = null
  const transactions: string[][] = []
  const runtime = await openDeviceRuntime({
    store: {
      ...store,
      sessions: async () => (await store.sessions()).filter(({id}) => id === own),
      transaction: work => store.transaction(unit => work(recording(unit, transactions))),
    },
    hosts: [{agent, model, tools: {...defaultTools, ...tools}} as unknown as AgentHost],
    environment,
    link: null,
    owner: fixedOwner('maya'),
    setToken: () => undefined,
    publisher: feed,
    retryDelayMs: 1,
  })
  const sessions = createSessions({
    service: runtime.service,
    listen: feed.listen,
    onOwnerChange: () => () => undefined,
    environment,
  })
  const session = await sessions.openSession({agent: 'desk'})
  own = session.id
  const document = async () => {
    const stored = await store.document(session.id, 'draft')
    return stored && foldDocument(stored)
  }
  return {session, close: runtime.close, document, transactions}
}

/** The unit, with the kinds that are appended in it written down together. */
function recording(unit: UnitOfWork, transactions: string[][]): UnitOfWork {
  const append: UnitOfWork['append'] = async (events, head) => {
    await unit.append(events, head)
    transactions.push(events.map(({kind}) => kind))
  }
  return {...unit, append}
}

async function play(steps: ScriptedStep[], tools: Tools = {}, budgets = {}) {
  const model = scriptedModel(steps)
  const desk = await at(model, tools, budgets)
  await desk.session.send('Go.')
  const view = await desk.session.settled()
  return {...desk, model, view}
}

function results(view: SessionView): (string | undefined)[] {
  return view.entries.flatMap(entry => (entry.type === 'tool' ? [entry.result?.outcome] : []))
}

async function written(text: string): Promise<number> {
  return (await database.db.query('select 1 from written where text = $1', [text])).rows.length
}

const lastPrompt = (model: ReturnType<typeof scriptedModel>) => JSON.stringify(model.calls.at(-1)?.prompt.at(-1))

describe('what the model gets wrong', () => {
  const faults: [string, ScriptedStep, string][] = [
    ['an input that the tool refuses', {calls: [{tool: 'look', input: {id: 7}}]}, 'id'],
    ['an input that is not JSON', {calls: [{tool: 'look', input: '{id'}]}, 'not JSON'],
    ['a tool that is not there', {calls: [{tool: 'wipe', input: {}}]}, 'no tool named'],
  ]
  test.each(faults)('[OP-7] %s goes back to it as an error, and the run goes on', async (_, step, why) => {
    const {view, model, close} = await play([step, {text: 'Sorry.'}])
    expect(results(view)).toEqual(['error'])
    expect(lastPrompt(model)).toContain(why)
    expect(view.status).toBe('completed')
    await close()
  })

  test('[BUD-1] calls over the limit of a step are answered with the reason, not run', async () => {
    let ran = 0
    const calls = Array.from({length: 5}, (_, i) => ({tool: 'look', input: {id: `${i}`}}))
    const {view, close} = await play([{calls}, {text: 'ok'}], {look: () => (ran += 1)}, {maxToolCallsPerStep: 2})
    expect(results(view)).toEqual(['ok', 'ok', 'error', 'error', 'error'])
    expect(ran).toBe(2)
    await close()
  })

  test('[BUD-2] a run that reaches its steps ends partially and says at which bound', async () => {
    const step = {calls: [{tool: 'look', input: {id: 'x'}}]}
    const {view, model, close} = await play([step, step], {}, {maxSteps: 2})
    expect(view.status).toBe('completed')
    expect(view.entries.at(-1)).toMatchObject({about: 'stopped_at_bound', text: expect.stringContaining('2 steps')})
    model.done()
    await close()
  })
})

describe('a model that fails', () => {
  const refused = Object.assign(new Error('bad key'), {isRetryable: false})

  test('[RUN-5] in a way that may pass is asked again within the step', async () => {
    const {view, model, close} = await play([{error: new Error('busy')}, {breakOff: true, text: 'ha'}, {text: 'Done.'}])
    expect(view.entries.map(({type}) => type)).toEqual(['message', 'reply'])
    model.done()
    await close()
  })

  test('[RUN-5] again and again leaves a run that a person can retry, as a new attempt of the same run', async () => {
    const busy = {error: new Error('busy')}
    const {view, session, model, close} = await play([busy, busy, busy, {text: 'Done.'}])
    expect(view).toMatchObject({status: 'failed_retryable', passport: {may: {retry: {legal: true}}}})
    await session.retry()
    const after = await until(session, ({status}) => status === 'completed')
    expect(after.passport).toMatchObject({run: view.passport?.run, attempt: 2})
    model.done()
    await close()
  })

  test('[RUN-3] and then gets a new message starts another run that sees both', async () => {
    const busy = {error: new Error('busy')}
    const {session, view, model, close} = await play([busy, busy, busy, {text: 'Done.'}])
    await session.send('Again.')
    const after = await until(session, ({status}) => status === 'completed')
    expect(after.passport?.run).not.toBe(view.passport?.run)
    expect(said(model.calls.at(-1)!.prompt)).toEqual(['Go.', 'Again.'])
    await close()
  })

  test('[RUN-1] for good ends the run at once, with its own words', async () => {
    const {view, model, close} = await play([{error: refused}])
    expect(view.status).toBe('failed_final')
    expect(view.entries.at(-1)).toMatchObject({about: 'failed', text: 'bad key'})
    model.done()
    await close()
  })

  test('[CUS-5] for want of the server is asked again by itself, though no connection changes', async () => {
    const offline = {error: new HoldfastError('offline', 'the gateway did not answer')}
    const desk = await at(scriptedModel([offline, offline, {text: 'Done.'}]))
    await desk.session.send('Go.')
    const view = await until(desk.session, ({status}) => status === 'completed')
    expect(view.entries.at(-1)).toMatchObject({type: 'reply', text: 'Done.'})
    await desk.close()
  })
})

/** Something that is under way until the test lets it go. */
function gate() {
  let open: () => void = () => undefined
  let reached: () => void = () => undefined
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  const entered = new Promise<void>(resolve => {
    reached = resolve
  })
  return {open, reached, passed, entered}
}

describe('while something is under way', () => {
  async function cancelledDuring(steps: ScriptedStep[], tools: Tools, entered: Promise<void>) {
    const desk = await at(scriptedModel(steps), tools)
    await desk.session.send('Go.')
    await entered
    await desk.session.cancel('enough')
    await until(desk.session, view => view.status === 'cancelled' && view.settled)
    return desk
  }

  test('[RUN-7] a cancel during a model call leaves the call, even one that listens to nothing', async () => {
    const {reached, entered} = gate()
    const hanging: ScriptedStep = {expect: () => reached(), until: new Promise(() => undefined), text: 'late'}
    const {session, close} = await cancelledDuring([hanging, {text: 'Fresh.'}], {}, entered)
    await session.send('And now?')
    const view = await until(session, ({status}) => status === 'completed')
    expect(view.entries.filter(({type}) => type === 'reply')).toMatchObject([{text: 'Fresh.'}])
    await close()
  })

  test('[RUN-7] a cancel during a tool leaves its call open, and the next run answers it as aborted', async () => {
    const {reached, entered} = gate()
    const look = () => {
      reached()
      return new Promise(() => undefined)
    }
    const {session, close} = await cancelledDuring(
      [{calls: [{tool: 'look', input: {id: 'x'}}]}, {text: 'ok'}],
      {look},
      entered,
    )
    await session.send('And now?')
    const view = await until(session, ({status}) => status === 'completed')
    expect(results(view)).toEqual(['aborted'])
    await close()
  })

  test('[RUN-3] a message while the model thinks is answered in the next view of the same run', async () => {
    const {reached, entered, passed, open} = gate()
    const model = scriptedModel([
      {expect: () => reached(), until: passed, text: 'First answer.'},
      {text: 'Both answers.'},
    ])
    const desk = await at(model)
    await desk.session.send('One.')
    await entered
    await desk.session.send('Two.')
    open()
    const view = await until(desk.session, ({status}) => status === 'completed')
    expect(said(model.calls[1]!.prompt)).toEqual(['One.', 'Two.'])
    expect(view.passport?.checkpoint.steps).toBe(2)
    expect(view.entries.map(({type}) => type)).toEqual(['message', 'message', 'reply', 'reply'])
    model.done()
    await desk.close()
  })

  test('[CUS-5] closing waits for nobody who does not listen', async () => {
    const {reached, entered} = gate()
    const desk = await at(scriptedModel([{expect: () => reached(), until: new Promise(() => undefined)}]))
    await desk.session.send('Go.')
    await entered
    await desk.close()
  })
})

describe('what is written together', () => {
  const looks: ScriptedStep = {calls: [{tool: 'look', input: {id: '1'}}]}
  const writes: ScriptedStep = {calls: [{tool: 'write', input: {text: 'together'}}]}

  test('[LOG-6] [LOG-7] a step is two transactions: a reply with its intents, and the last result with the view after it', async () => {
    const {transactions, view, close} = await play([looks, writes, {text: 'Done.'}])
    expect(results(view)).toEqual(['ok', 'ok'])
    expect(transactions.slice(-6)).toEqual([
      ['run.started', 'step.prepared'],
      ['model.replied', 'tool.called'],
      ['tool.returned', 'step.prepared'],
      ['model.replied', 'tool.called'],
      ['document.updated', 'tool.returned', 'step.prepared'],
      ['model.replied', 'run.completed'],
    ])
    await close()
  })

  test('[RUN-3] [VIEW-1] a message that comes while a tool runs is in the next view, which is then prepared by itself', async () => {
    const {reached, entered, passed, open} = gate()
    const model = scriptedModel([looks, {text: 'Both.'}])
    const desk = await at(model, {
      look: async () => {
        reached()
        await passed
        return {found: true}
      },
    })
    await desk.session.send('One.')
    await entered
    await desk.session.send('Two.')
    open()
    await until(desk.session, ({status}) => status === 'completed')
    expect(said(model.calls[1]!.prompt)).toEqual(['One.', 'Two.'])
    expect(desk.transactions.slice(-3)).toEqual([
      ['tool.returned'],
      ['step.prepared'],
      ['model.replied', 'run.completed'],
    ])
    await desk.close()
  })

  test('[LOG-7] results of calls side by side are each kept at once, and the view waits for the last', async () => {
    const calls = ['1', '2', '3'].map(id => ({tool: 'look', input: {id}}))
    const {transactions, model, view, close} = await play([{calls}, {text: 'Done.'}])
    expect(results(view)).toEqual(['ok', 'ok', 'ok'])
    expect(transactions.slice(-4, -1)).toEqual([
      ['tool.returned'],
      ['tool.returned'],
      ['tool.returned', 'step.prepared'],
    ])
    expect(lastPrompt(model)).toMatch(/"1".*"2".*"3"/)
    await close()
  })
})

describe('local tools', () => {
  const once = (text: string): ScriptedStep[] => [{calls: [{tool: 'write', input: {text}}]}, {text: 'ok'}]

  test('[OP-1] write into database and document in one piece with their result', async () => {
    const {view, document, close} = await play(once('whole'))
    expect(results(view)).toEqual(['ok'])
    expect(await written('whole')).toBe(1)
    expect(new TextDecoder().decode((await document())!)).toContain('whole')
    await close()
  })

  test('[WRK-2] a local tool writes a document of any permitted length, whatever it weighs in UTF-8', async () => {
    const text = '漢'.repeat(99_999)
    const write = async (_: unknown, context: LocalToolContext) => {
      await context.document.write('draft', `${text}\ud800`)
      return 'fine'
    }
    const {view, document, close} = await play(once('long'), {write})
    expect(view.status).toBe('completed')
    expect(readText(await document())).toBe(`${text}\ufffd`)
    await close()
  })

  const broken: [string, NonNullable<Tools['write']>, string][] = [
    [
      'throws after writing',
      async (input, context) => {
        await defaultTools.write(input, context)
        throw new Error('changed my mind')
      },
      'changed my mind',
    ],
    [
      'swallows a failed query',
      async (input, context) => {
        await defaultTools.write(input, context)
        await context.sql('select * from no_such_table').catch(() => undefined)
        return 'fine'
      },
      'no_such_table',
    ],
    [
      'writes a document under no name',
      async (input, context) => {
        await defaultTools.write(input, context)
        await context.document.write('No Name', 'x')
        return 'fine'
      },
      'document',
    ],
    [
      'writes more into a document than one can hold',
      async (input, context) => {
        await context.document.write('draft', 'x'.repeat(100_001))
        await defaultTools.write(input, context)
        return 'fine'
      },
      'expected at most 100000 characters, got 100001',
    ],
    [
      'returns what cannot be stored',
      async (input, context) => {
        await defaultTools.write(input, context)
        return new Map()
      },
      'got Map',
    ],
  ]
  test.each(broken)(
    '[OP-1] one that %s leaves neither rows nor edits, and the model hears why',
    async (name, write, why) => {
      const {view, model, document, close} = await play(once(name), {write})
      expect(view.status).toBe('completed')
      expect(results(view)).toEqual(['error'])
      expect(lastPrompt(model)).toContain(why)
      expect(await written(name)).toBe(0)
      expect(await document()).toBeNull()
      await close()
    },
  )
})

describe('long sessions', () => {
  test('[VIEW-4] five hundred edits of a draft after it do not push the message out of the view', async () => {
    const {passed, open} = gate()
    const model = scriptedModel([{text: 'Done.'}])
    const desk = await at(async () => {
      await passed
      return model
    })
    await desk.session.send('The question.')
    const draft = desk.session.document('notes')
    let text = ''
    for (let i = 0; i < 420; i++) {
      text += 'x'
      await Promise.all([draft.edit(text), draft.flush()])
    }
    open()
    await until(desk.session, ({status}) => status === 'completed')
    expect(said(model.calls[0]!.prompt)).toEqual(['The question.'])
    await desk.close()
  })
})
