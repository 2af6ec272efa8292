import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest'
import type {ToolImplementations} from '../../runtime/loop/define.ts'
import {
  type Agent,
  commonMemoryRules,
  defineAgent,
  type MemoryExtractor,
  type NodeRuntime,
  openRuntime,
  ruleExtractor,
} from '../../runtime/node.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {
  evolveMemory,
  type MemoryCommand,
  type MemoryItem,
  type MemoryRecord,
  proposedMemory,
  textAt,
} from '../../runtime/protocol/memory.ts'
import type {MemoryView} from '../../runtime/protocol/memory-view.ts'
import {type ScriptedModel, scriptedModel} from '../../runtime/testing.ts'
import {serverEnvironment as env, type MemoryPolicy} from '../../sync-server/index.ts'
import {desk, deskTools, type LinkFaults, networkDown, openTestServer, type TestServer} from '../support/desk.ts'
import {tablesWith} from '../support/scan-database.ts'
import {proposalOf} from './support/teller.ts'

const open: {close(): Promise<void>}[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** One server for the file; every test has a person of its own, with the policy that the test wants. */
const policies = new Map<string, MemoryPolicy>()
let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer({memory: {policy: asked => (policies.get(asked.subject) ?? acceptAll)(asked)}})
})
afterAll(() => shop.close())

const rules = ruleExtractor(commonMemoryRules)
const acceptAll: MemoryPolicy = () => ({accept: 'told so'})
let people = 0

type Person = {subject: string; device(options?: DeviceOptions): Promise<NodeRuntime>}
type DeviceOptions = {
  extractor?: MemoryExtractor
  faults?: LinkFaults
  model?: ScriptedModel
  tools?: ToolImplementations<typeof desk.tools>
  agent?: Agent
}

function person(policy: MemoryPolicy = acceptAll): Person {
  const subject = `person-${++people}`
  policies.set(subject, policy)
  return {
    subject,
    device: async ({extractor = rules, faults = {}, model, tools = {}, agent = desk} = {}) => {
      const runtime = await openRuntime({
        agent,
        model: model ?? scriptedModel(Array.from({length: 9}, () => ({text: 'Noted.'}))),
        tools: functionsOf(agent, {...deskTools, ...tools}),
        dataDir: 'memory://',
        memory: {extractor},
        sync: {link: await shop.link(subject, {faults}), token: await shop.token(subject)},
      })
      open.push(runtime)
      return runtime
    },
  }
}

/** The functions that an agent has tools for. */
function functionsOf({tools}: Agent, functions: Record<string, unknown>): Record<string, never> {
  const own = Object.entries(functions).filter(([name]) => tools.some(tool => tool.name === name))
  return Object.fromEntries(own) as Record<string, never>
}

async function say(runtime: NodeRuntime, text: string) {
  const session = await runtime.openSession({agent: 'desk'})
  await session.send(text)
  await session.settled()
  return session
}

/** The first view of memory that is as wanted. */
function remembers(runtime: NodeRuntime, wanted: (view: MemoryView) => boolean): Promise<MemoryView> {
  return new Promise(resolve => {
    const stop = runtime.memory.subscribe(view => {
      if (!wanted(view)) return
      resolve(view)
      queueMicrotask(() => stop())
    })
  })
}

const texts = (view: MemoryView) => view.entries.map(({item}) => item.text)
const settledWith = (text: string) => (view: MemoryView) =>
  view.queued === 0 && view.entries.some(({item, kept}) => kept === 'server' && item.text === text)

describe('extraction', () => {
  test('[MEM-2] what a person said in a run is proposed after it, with the message that says so', async () => {
    const runtime = await person(() => ({ask: 'only she knows'})).device()
    const session = await say(runtime, 'Remember that my sister is called Ines. Where is A17?')
    const view = await remembers(runtime, settledWith('My sister is called Ines.'))
    const {item} = view.entries[0]!
    expect(item).toMatchObject({status: 'proposed', kind: 'fact', confidence: 1})
    expect(item.sources.map(source => source.session)).toEqual([session.id])
    expect(await runtime.memory.recall({query: 'sister'})).toEqual([])
    await runtime.memory.accept(item.id)
    expect(await runtime.memory.recall({query: 'sister'})).toMatchObject([{item: {id: item.id}, by: ['text']}])
  })

  test('[MEM-2] each run is extracted once, also when the device starts again', async () => {
    const asked: string[] = []
    const extractor: MemoryExtractor = {
      name: 'counting',
      extract: async ({run}) => {
        asked.push(run)
        return []
      },
    }
    const maya = person()
    const runtime = await maya.device({extractor})
    const session = await say(runtime, 'One.')
    await session.send('Two.')
    await session.settled()
    await expect.poll(() => asked.length).toBe(2)
    await say(runtime, 'Three.')
    await expect.poll(() => asked.length).toBe(3)
    expect(new Set(asked).size).toBe(3)
  })

  test('[MEM-5] a device that takes a session over after its run has ended does not extract that run again', async () => {
    const asked: string[] = []
    const counting = (name: string): MemoryExtractor => ({
      name,
      extract: async task => {
        asked.push(name)
        return rules.extract(task, {gateway: null as never, signal: new AbortController().signal})
      },
    })
    const maya = person()
    const laptop = await maya.device({extractor: counting('laptop')})
    const session = await say(laptop, 'Remember that my sister is called Ines.')
    const view = await remembers(laptop, settledWith('My sister is called Ines.'))
    await laptop.memory.forget(view.entries[0]!.item.id)
    const phone = await maya.device({extractor: counting('phone')})
    const there = await phone.openSession({session: session.id})
    await there.takeOver()
    await there.send('Where is A17?')
    await there.settled()
    // The second run is the phone's own; of the first it knows nothing more than that it was forgotten.
    await expect.poll(() => asked).toEqual(['laptop', 'phone'])
    await remembers(phone, ({queued}) => queued === 0)
    expect(await phone.memory.recall({query: 'sister Ines'})).toEqual([])
  })

  test('[WRK-4] an extractor sees what was said, and neither tool results nor documents', async () => {
    const seen: string[] = []
    const extractor: MemoryExtractor = {
      name: 'spy',
      extract: async said => {
        seen.push(JSON.stringify(said))
        return []
      },
    }
    const runtime = await person().device({
      extractor,
      model: scriptedModel([{calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]}, {text: 'It costs something.'}]),
      tools: {lookupOrder: async () => ({secretNumber: 'fact-4711'})},
    })
    const session = await runtime.openSession({agent: 'desk'})
    await session.document('draft').edit('draft-0815')
    await session.send('What does A17 cost?')
    await session.settled()
    await expect.poll(() => seen.length).toBe(1)
    expect(seen[0]).toContain('What does A17 cost?')
    expect(seen[0]).toContain('It costs something.')
    expect(seen[0]).not.toMatch(/fact-4711|draft-0815/)
  })

  test('[MEM-2] an extraction that breaks proposes nothing and says so; the run is as it was', async () => {
    const maya = person()
    const extractor: MemoryExtractor = {
      name: 'broken',
      extract: async () => [{text: 'No source.', kind: 'fact', events: [], confidence: 1}],
    }
    const runtime = await maya.device({extractor})
    const session = await say(runtime, 'Hello.')
    const view = await remembers(runtime, ({unread}) => unread.length > 0)
    expect(view.unread[0]).toMatchObject({
      session: session.id,
      reason: expect.stringContaining('extractor broken.sources'),
    })
    expect(view.entries).toEqual([])
    expect((await session.settled()).status).toBe('completed')
  })

  test('[MEM-4] an extraction that needs the server waits for it', async () => {
    const maya = person()
    let reachable = false
    const extractor: MemoryExtractor = {
      name: 'model',
      extract: async ({lines}) => {
        if (!reachable) throw new HoldfastError('offline', 'no model now')
        return [{text: 'Learned late.', kind: 'fact', events: [lines[0]!.event], confidence: 0.5}]
      },
    }
    const runtime = await maya.device({extractor})
    await say(runtime, 'Hello.')
    await runtime.setOnline(false)
    reachable = true
    await runtime.setOnline(true)
    expect(texts(await remembers(runtime, settledWith('Learned late.')))).toEqual(['Learned late.'])
  })
})

describe('offline', () => {
  test('[MEM-4] recall answers from the replica with the server gone, and what is new queues until it is back', async () => {
    const maya = person()
    const runtime = await maya.device()
    await say(runtime, 'I prefer store credit.')
    await remembers(runtime, settledWith('Prefers store credit.'))
    await runtime.setOnline(false)
    expect(await runtime.memory.recall({query: 'store credit?'})).toMatchObject([
      {item: {text: 'Prefers store credit.'}},
    ])
    await say(runtime, 'Please call me Mia.')
    const queued = await remembers(runtime, ({entries}) => entries.length === 2)
    expect(queued).toMatchObject({queued: 1, entries: [{kept: 'device', item: {status: 'proposed'}}, {kept: 'server'}]})
    await runtime.setOnline(true)
    const view = await remembers(runtime, settledWith('Wants to be called Mia.'))
    expect(view.entries.map(({item, kept}) => [item.status, kept])).toEqual([
      ['accepted', 'server'],
      ['accepted', 'server'],
    ])
  })

  test('[MEM-4] a push whose answer was lost, or that came twice, remembers once', async () => {
    const maya = person()
    let lost = 0
    const faults: LinkFaults = {
      twice: (_, path) => path === '/v1/memory/proposals',
      after: (_, path) => {
        if (path === '/v1/memory/proposals' && lost++ === 0) networkDown()
      },
    }
    const runtime = await maya.device({faults})
    await say(runtime, 'I prefer store credit.')
    await expect.poll(() => lost).toBeGreaterThan(0)
    await runtime.setOnline(false)
    await runtime.setOnline(true)
    const view = await remembers(runtime, settledWith('Prefers store credit.'))
    expect(view.entries).toHaveLength(1)
    const {rows} = await shop.db.query('SELECT id FROM hf_memory WHERE subject = $1', [maya.subject])
    expect(rows).toHaveLength(1)
  })

  test('[MEM-4] a correction made offline counts here at once, and on the other device when it was sent', async () => {
    const maya = person()
    const [phone, laptop] = [await maya.device(), await maya.device()]
    await say(phone, 'I prefer store credit.')
    const {entries} = await remembers(laptop, settledWith('Prefers store credit.'))
    await laptop.setOnline(false)
    await laptop.memory.correct(entries[0]!.item, 'Prefers bank transfers.')
    expect((await laptop.memory.list()).entries).toMatchObject([
      {kept: 'device', item: {text: 'Prefers bank transfers.'}},
    ])
    expect(await laptop.memory.recall({query: 'store credit'})).toEqual([])
    await laptop.setOnline(true)
    expect(texts(await remembers(phone, settledWith('Prefers bank transfers.')))).toEqual(['Prefers bank transfers.'])
  })

  test('[MEM-3] a correction that came too late stays visible with its reason, and the newer words stand', async () => {
    const maya = person()
    const [phone, laptop] = [await maya.device(), await maya.device()]
    await say(phone, 'I prefer store credit.')
    const {entries} = await remembers(laptop, settledWith('Prefers store credit.'))
    await remembers(phone, settledWith('Prefers store credit.'))
    await laptop.setOnline(false)
    await laptop.memory.correct(entries[0]!.item, 'Prefers cash.')
    await phone.memory.correct(entries[0]!.item, 'Prefers vouchers.')
    await remembers(phone, settledWith('Prefers vouchers.'))
    await laptop.setOnline(true)
    const view = await remembers(laptop, ({entries: [one]}) => one?.refused != null && one.kept === 'server')
    expect(view.entries).toMatchObject([
      {item: {text: 'Prefers vouchers.'}, refused: expect.stringContaining('revision')},
    ])
    await laptop.memory.correct(view.entries[0]!.item, 'Prefers cash.')
    expect((await remembers(laptop, settledWith('Prefers cash.'))).entries[0]?.refused).toBeNull()
  })

  test('[MEM-3] what is forgotten leaves no text on any device after its next contact', async () => {
    const maya = person()
    const [phone, laptop] = [
      await maya.device(),
      await maya.device({extractor: {name: 'none', extract: async () => []}}),
    ]
    await say(phone, 'Remember that indigo-weasel is the code of the garage.')
    const known = (view: MemoryView) => texts(view).some(text => text.includes('ndigo-weasel'))
    const {entries} = await remembers(laptop, known)
    await laptop.setOnline(false)
    await phone.memory.forget(entries[0]!.item.id)
    await remembers(phone, view => view.queued === 0 && !known(view))
    expect((await tablesWith(shop.db, 'ndigo-weasel')).filter(table => table.startsWith('hf_memory'))).toEqual([])
    expect(await tablesWith(laptop.db, 'ndigo-weasel')).toContain('holdfast_memory')
    await laptop.setOnline(true)
    await remembers(laptop, view => !known(view))
    for (const {db} of [phone, laptop]) {
      expect((await tablesWith(db, 'ndigo-weasel')).filter(table => table.startsWith('holdfast_memory'))).toEqual([])
    }
  })

  test('[MEM-3] forgetting can be taken back until it is sent, and not after', async () => {
    const maya = person()
    const runtime = await maya.device()
    await say(runtime, 'I prefer store credit.')
    const {entries} = await remembers(runtime, settledWith('Prefers store credit.'))
    const {id} = entries[0]!.item
    const kept = await runtime.memory.forget(id, {undoMs: 60_000})
    expect(await runtime.memory.recall({query: 'store credit'})).toEqual([])
    expect(await kept.undo()).toBe(true)
    expect(await runtime.memory.recall({query: 'store credit'})).toHaveLength(1)
    const gone = await runtime.memory.forget(id, {undoMs: 1})
    await remembers(runtime, view => view.queued === 0 && view.entries.length === 0)
    expect(await gone.undo()).toBe(false)
  })

  test('[MEM-3] a proposal that is forgotten before it was sent never leaves the device', async () => {
    const maya = person()
    const runtime = await maya.device()
    // Somebody has to be known before the connection is cut.
    await runtime.openSession({agent: 'desk'})
    await runtime.setOnline(false)
    await say(runtime, 'I prefer store credit.')
    const {entries} = await remembers(runtime, view => view.entries.length === 1)
    await runtime.memory.forget(entries[0]!.item.id)
    await runtime.setOnline(true)
    await remembers(runtime, view => view.queued === 0)
    const {rows} = await shop.db.query('SELECT id FROM hf_memory WHERE subject = $1', [maya.subject])
    expect(rows).toEqual([])
  })

  test('[MEM-4] a server that was set back is pulled again from the start', async () => {
    const maya = person()
    const runtime = await maya.device()
    await say(runtime, 'I prefer store credit.')
    await remembers(runtime, settledWith('Prefers store credit.'))
    await runtime.setOnline(false)
    await shop.db.query('DELETE FROM hf_memory WHERE subject = $1', [maya.subject])
    await shop.db.query('UPDATE hf_memory_subjects SET cursor = 0 WHERE subject = $1', [maya.subject])
    await runtime.setOnline(true)
    await remembers(runtime, view => view.entries.length === 0)
  })
})

describe('lifetimes', () => {
  test('[RUN-10] memory lives in tables of its own, and no event of any session is about it', async () => {
    const maya = person()
    const runtime = await maya.device()
    const session = await say(runtime, 'I prefer store credit.')
    await remembers(runtime, settledWith('Prefers store credit.'))
    const {rows} = await shop.db.query<{kind: string}>('SELECT DISTINCT kind FROM hf_events')
    expect(rows.filter(({kind}) => kind.startsWith('memory'))).toEqual([])
    const holders = await tablesWith(runtime.db, 'Prefers store credit.')
    expect(holders).toEqual(['holdfast_memory'])
    // The session may go; what was learned in it stays, and still says where it came from.
    await shop.db.query('DELETE FROM hf_events WHERE session = $1', [session.id])
    await shop.db.query('DELETE FROM hf_sessions WHERE id = $1', [session.id])
    const other = await maya.device()
    const view = await remembers(other, settledWith('Prefers store credit.'))
    expect(view.entries[0]?.item.sources[0]?.session).toBe(session.id)
  })

  test('[WRK-4] a session of another subject recalls nothing of it', async () => {
    const maya = person()
    const runtime = await maya.device()
    await say(runtime, 'I prefer store credit.')
    await remembers(runtime, settledWith('Prefers store credit.'))
    const eve = await person().device()
    await new Promise<void>(resolve => {
      eve.subscribeConnection(({state}) => state === 'live' && resolve())
    })
    expect(await eve.memory.recall({query: 'store credit'})).toEqual([])
    await expect(eve.memory.forget((await runtime.memory.list()).entries[0]!.item.id)).rejects.toThrow('No such memory')
  })
})

test('[MEM-3] bad input to memory on a page names the field and what is expected', async () => {
  const runtime = await person().device()
  await expect(runtime.memory.recall({})).rejects.toThrow('recall.query: expected a question or a key')
  await expect(runtime.memory.accept('mem_1')).rejects.toThrow('memory.accept.id: expected a memory id')
  await expect(runtime.memory.recall({query: 'x', limit: 0})).rejects.toThrow('recall.limit: expected 1 to 50')
})

describe('in views', () => {
  const remembering = defineAgent({
    name: 'desk',
    version: '2.0.0',
    instructions: 'You work at a refund desk.',
    tools: [],
    memory: {name: 'preferences', maxItems: 3},
  })

  test('[MEM-1] a later session is told what is remembered about its message, offline too, and nothing once it is forgotten', async () => {
    const model = scriptedModel(Array.from({length: 4}, () => ({text: 'Noted.'})))
    const runtime = await person().device({agent: remembering, model})
    await say(runtime, 'I prefer store credit.')
    const {entries} = await remembers(runtime, settledWith('Prefers store credit.'))
    await runtime.setOnline(false)
    const session = await say(runtime, 'Which refund would I like, store credit?')
    const promptOf = (call: number) => JSON.stringify(model.calls[call]?.prompt)
    expect(promptOf(0)).not.toContain('Prefers store credit.')
    expect(promptOf(1)).toContain(`Prefers store credit. (${entries[0]?.item.sources[0]?.session})`)
    await runtime.memory.forget(entries[0]!.item.id)
    await session.send('And store credit today?')
    await session.settled()
    expect(promptOf(2)).not.toContain('Prefers store credit.')
  })

  test('[PIN-1] an agent whose profile allows no memory is told none', async () => {
    const model = scriptedModel(Array.from({length: 4}, () => ({text: 'Noted.'})))
    const runtime = await person().device({model})
    await say(runtime, 'I prefer store credit.')
    await remembers(runtime, settledWith('Prefers store credit.'))
    await say(runtime, 'Which refund would I like, store credit?')
    expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('Prefers store credit.')
  })
})

describe('erasure', () => {
  test('[RET-4] erasing a session keeps what was accepted from it unless that is asked for; then every copy goes', async () => {
    const maya = person()
    const runtime = await maya.device()
    const ask = async (body: object) =>
      shop.server.app.request('/v1/erasures', {
        method: 'POST',
        body: JSON.stringify(body),
        headers: {authorization: `Bearer ${await shop.token(maya.subject)}`, 'content-type': 'application/json'},
      })
    const [kept, gone] = [
      await say(runtime, 'Remember that the copper-newt is mine.'),
      await say(runtime, 'Remember that the silver-newt is hers.'),
    ]
    await remembers(runtime, ({entries, queued}) => entries.length === 2 && queued === 0)
    expect((await ask({session: kept.id})).status).toBe(200)
    expect((await ask({session: gone.id, memory: true})).status).toBe(200)
    const view = await remembers(runtime, ({entries}) => entries.length === 1)
    expect(texts(view)).toEqual(['The copper-newt is mine.'])
    await expect.poll(() => tablesWith(runtime.db, 'silver-newt')).toEqual([])
    expect(await tablesWith(shop.db, 'silver-newt')).toEqual([])
  })
})

test('[VIEW-2] what an earlier revision said can be told again while it is known, and not what is forgotten', () => {
  const act = {at: 1, by: {type: 'policy' as const}}
  const first = proposedMemory(proposalOf({session: env.id('session'), event: env.id('event')}, {text: 'One.'}), 1)
  const steps: MemoryCommand[] = [
    {do: 'accept'},
    {do: 'correct', text: 'Two.', revision: 2},
    {do: 'correct', text: 'Three.', revision: 3},
    {do: 'expire'},
  ]
  const item = steps.reduce<MemoryItem>((now, step) => evolveMemory(now, step, act), first) as MemoryRecord
  expect([1, 2, 3, 4, 5, 6].map(revision => textAt(item, revision))).toEqual([
    'One.',
    'One.',
    'Two.',
    'Three.',
    'Three.',
    null,
  ])
  expect(textAt({...item, history: item.history.slice(-1)}, 2)).toBeNull()
})
