import {afterAll, beforeAll, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {agentHost} from '../../runtime/node.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Envelope} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {openTestDatabase, promptModel, type TestDatabase} from '../../runtime/testing.ts'
import {openDevice, until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {report} from './support/report.ts'

/** The events of all steps stay below what a device may hold without the server. */
const steps = 220
const counted = 40
const note = defineTool({name: 'note', description: 'Notes.', effect: 'read', input: z.strictObject({})})
const agent = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions: 'Note what you are told.',
  tools: [note],
  summaries: 'rules',
  budgets: {maxSteps: 1000, maxToolCalls: 1000, maxTokens: 1_000_000_000, wallMs: 6 * 3_600_000},
})

let shop: TestServer
let laptop: TestDatabase
beforeAll(async () => {
  shop = await openTestServer()
  laptop = await openTestDatabase()
})
afterAll(async () => {
  await Promise.all([shop.close(), laptop.close()])
})

/** Milliseconds of CPU that this process has used: other work on the machine does not change them. */
function cpuMs(): number {
  const {user, system} = process.cpuUsage()
  return (user + system) / 1000
}

/** Plays one long run without the server and returns its events. */
async function longRun(subject: string): Promise<{id: SessionId; events: Envelope[]}> {
  let left = steps
  const model = promptModel(() => (left-- > 0 ? {calls: [{tool: 'note', input: {}}]} : {text: 'Done.'}))
  const hosts = [agentHost(agent, {model, tools: {note: () => ({noted: true})}})]
  const device = await openDevice({db: laptop.db, shop, subject, model, hosts})
  await device.sessions.setOnline(false)
  const session = await device.sessions.openSession({agent: 'desk'})
  await session.send('Begin.')
  await until(session, ({status}) => status === 'completed')
  const store = await openPGliteStore(laptop.db, env)
  const events = (await store.read(session.id as SessionId, Number.MAX_SAFE_INTEGER)).map(
    ({event}) => event as Envelope,
  )
  await device.close()
  return {id: session.id as SessionId, events}
}

/** Each begins with the preparation of a step. */
function byStep(events: readonly Envelope[]): Envelope[][] {
  const groups: Envelope[][] = [[]]
  for (const event of events) {
    if (event.kind === 'step.prepared') groups.push([])
    groups.at(-1)?.push(event)
  }
  return groups
}

test('CPU of the server for a step late in a long run, against an early step', async () => {
  const {id, events} = await longRun('bench')
  const link = await shop.link('bench')
  const times: number[] = []
  for (const group of byStep(events)) {
    const start = cpuMs()
    const {verdicts} = await link.push(id, group)
    times.push(cpuMs() - start)
    const refused = verdicts.find(({status}) => status === 'rejected')
    if (refused) throw new Error(JSON.stringify(refused))
  }
  const mean = (some: readonly number[]) => some.reduce((sum, ms) => sum + ms, 0) / some.length
  const early = mean(times.slice(counted, 2 * counted))
  const late = mean(times.slice(-counted - 1, -1))
  report(`server CPU of step ${steps}`, {name: `of step ${2 * counted}`, ms: early}, late, '≤ 1.3×')
})
