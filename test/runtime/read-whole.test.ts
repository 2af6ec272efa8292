import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {agentHost} from '../../runtime/node.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import type {ToolEntry} from '../../runtime/protocol/transcript.ts'
import {openTestDatabase, promptModel, type TestDatabase} from '../../runtime/testing.ts'
import {openDevice, until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'

let shop: TestServer
let laptop: TestDatabase
beforeAll(async () => {
  shop = await openTestServer()
  laptop = await openTestDatabase()
})
afterAll(async () => {
  await Promise.all([shop.close(), laptop.close()])
})

const fetchRows = defineTool({name: 'fetchRows', description: 'Rows.', effect: 'read', input: z.strictObject({})})
const part = z.strictObject({reference: z.string(), from: z.int()})
const readPart = defineTool({name: 'readPart', description: 'Reads on.', effect: 'read', input: part})
const notePart = defineTool({name: 'notePart', description: 'Reads on and notes.', effect: 'local', input: part})
const agent = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions: 'Look at rows.',
  tools: [fetchRows, readPart, notePart],
  budgets: {viewTokens: 2000},
})
const rows = Array.from({length: 1500}, (_, i) => `row ${i} of the report`)
const text = JSON.stringify({rows})

type Wish = {tool: string; reference?: string | undefined}
const shownReference = (text: string) => /the whole: (event:[\w-]+) …\]/.exec(text)?.[1]

/** Makes the calls of `wishes`, by the reference that the prompt shows if the wish has none, and then answers. */
function reader(prompts: string[], wishes: Wish[]) {
  return promptModel(prompt => {
    if (prompt[0]?.role !== 'system' || !prompt[0].content.startsWith(agent.instructions)) return {text: 'A summary.'}
    const shown = JSON.stringify(prompt)
    prompts.push(shown)
    const wish = wishes.shift()
    if (!wish) return {text: 'Done.'}
    if (wish.tool === 'fetchRows') return {calls: [{tool: 'fetchRows', input: {}}]}
    const reference = wish.reference ?? shownReference(shown) ?? 'none'
    return {calls: [{tool: wish.tool, input: {reference, from: 15_000}}]}
  })
}

async function open(prompts: string[], subject: string, wishes: Wish[]) {
  const model = reader(prompts, wishes)
  const read = async ({reference, from}: z.infer<typeof part>, blobs: {read(ref: string): Promise<Uint8Array>}) =>
    new TextDecoder().decode(await blobs.read(reference)).slice(from, from + 200)
  const host = agentHost(agent, {
    model,
    tools: {
      fetchRows: () => ({rows}),
      readPart: (input, {blobs}) => read(input, blobs),
      notePart: async (input, {blobs, sql}) => {
        await sql('create table if not exists parts (what text)')
        return await read(input, blobs)
      },
    },
  })
  return openDevice({db: laptop.db, shop, subject, model, hosts: [host]})
}

const rested = (view: SessionView) => view.status === 'completed' && view.pending === 0
type Session = Awaited<ReturnType<Awaited<ReturnType<typeof open>>['session']>>

/** Returns the results of the calls that a message leads to. */
async function ask(session: Session, words: string) {
  const tools = (view: SessionView) => view.entries.filter((entry): entry is ToolEntry => entry.type === 'tool')
  const before = tools(await until(session, () => true)).length
  await session.send(words)
  const view = await until(session, now => tools(now).length > before && rested(now))
  return tools(view)
    .slice(before)
    .map(({result}) => result)
}

describe('a result of which the model saw an excerpt', () => {
  test.each(['readPart', 'notePart'])('[VIEW-4] is read on by its reference by %s, in a branch too', async tool => {
    const prompts: string[] = []
    const wishes: Wish[] = [{tool: 'fetchRows'}, {tool}]
    const device = await open(prompts, `reader-${tool}`, wishes)
    const session = await device.sessions.openSession({agent: 'desk'})
    const [, read] = await ask(session, 'Read the middle of the rows.')
    expect(prompts[1]).toContain(`${text.length} characters in all; the whole: event:`)
    const middle = {outcome: 'ok', output: text.slice(15_000, 15_200)}
    expect(read).toMatchObject(middle)
    const branch = await session.fork({after: (await until(session, rested)).head})
    wishes.push({tool, reference: shownReference(prompts.join())})
    expect(await ask(branch, 'Again.')).toMatchObject([middle])
    await device.close()
  })

  test('[RET-5] is not read from another session; an invalid reference is named', async () => {
    const prompts: string[] = []
    const wishes: Wish[] = [{tool: 'fetchRows'}]
    const device = await open(prompts, 'reader-apart', wishes)
    await ask(await device.sessions.openSession({agent: 'desk'}), 'Fetch the rows.')
    const reference = shownReference(prompts.join())
    expect(reference).toBeDefined()
    const other = await device.sessions.openSession({agent: 'desk'})
    for (const [given, why] of [
      [`${reference}`, 'neither this session nor what it inherits has such a text'],
      [`${reference}#0`, 'neither this session nor what it inherits has such a text'],
      ['event:all', 'expected "event:" and an event id'],
    ] as const) {
      wishes.push({tool: 'readPart', reference: given})
      const refused = {outcome: 'error', output: {error: expect.stringContaining(why)}}
      expect(await ask(other, 'Read it.')).toMatchObject([refused])
    }
    await device.close()
  })
})
