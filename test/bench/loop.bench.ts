import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {gatewayOf} from '../../runtime/device/gateway-of.ts'
import {openDocumentEditor} from '../../runtime/documents/document-editor.ts'
import {documentProjection} from '../../runtime/documents/document-projection.ts'
import {documentReader} from '../../runtime/documents/document-reader.ts'
import {describeAgent} from '../../runtime/loop/describe-agent.ts'
import {nextStep} from '../../runtime/loop/next-step.ts'
import {prepareView} from '../../runtime/loop/prepare-view.ts'
import {RunLoop} from '../../runtime/loop/run-loop.ts'
import {inOrderSeen, windowKinds} from '../../runtime/loop/select-events.ts'
import {nothingBeside} from '../../runtime/loop/view-sections.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'
import {promptModel} from '../../runtime/testing/prompt-model.ts'
import {deskHost} from '../support/crashable-device.ts'
import {desk} from '../support/desk.ts'
import {fillSession} from '../support/fill-session.ts'
import {median, report} from './support/report.ts'

let dataDir: string
let database: Awaited<ReturnType<typeof openNodeDatabase>>
let store: Awaited<ReturnType<typeof openPGliteStore>>
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
  database = await openNodeDatabase({dataDir})
  store = await openPGliteStore(database.db, env)
})
afterAll(async () => {
  await database.close()
  await rm(dataDir, {recursive: true, force: true})
})

const openLog = async (id: SessionId, on = store) =>
  SessionLog.open(
    {store: on, device: (await store.device()).id, environment: env, projections: [documentProjection]},
    id,
  )

const prepare = async (id: SessionId) => {
  const events = (await store.read(id, 400, windowKinds)).map(({event}) => event)
  const seen = inOrderSeen(events, {answers: [], hidden: []})
  return prepareView(desk, seen, {...nothingBeside, viewTokens: desk.budgets.viewTokens})
}

const person = {type: 'person', subject: 'bench'} as never
const message = {kind: 'message.posted', data: {text: 'x'.repeat(300)}} as const
const stepsOfRun = 15

/** The real loop at a run in which every step calls a tool: what its transactions take of the time, and how many they are. */
async function writesOfRun(call: {tool: string; input: {[key: string]: string}}) {
  const id = env.id('session')
  await fillSession(store, id, 100)
  const total = {ms: 0, transactions: 0}
  const transaction: DeviceStore['transaction'] = async work => {
    const start = performance.now()
    const result = await store.transaction(work)
    total.ms += performance.now() - start
    total.transactions += 1
    return result
  }
  const log = await openLog(id, {...store, transaction})
  let asked = 0
  const model = promptModel(() => (asked++ < stepsOfRun ? {calls: [call]} : {text: 'Done.'}))
  const order = {value: {cents: 8900}, version: '1', key: 'order/A17', source: 'server', ageMs: 0} as never
  const loop = new RunLoop({
    log,
    store,
    device: (await store.device()).id,
    hosts: [deskHost(model)],
    environment: env,
    gateway: gatewayOf(null),
    readFact: async () => order,
    readFacts: async keys => keys.map(() => order),
    openDocuments: openDocumentEditor,
    documents: documentReader(store),
    onText: () => {},
  })
  await log.append(person, [message])
  await expect.poll(() => log.state.run?.ended, {interval: 5}).toBe('completed')
  await loop.close()
  return {ms: total.ms / stepsOfRun, transactions: total.transactions / stepsOfRun}
}

test.each([
  ['a read', {tool: 'lookupOrder', input: {orderId: 'A17'}}],
  ['a local tool with a query and an edit', {tool: 'saveNote', input: {text: 'Wants the money back.'}}],
] as const)('durable writes of one agent step with %s, against one strict append', async (what, call) => {
  const id = env.id('session')
  await fillSession(store, id, 100)
  const log = await openLog(id)
  const runs = []
  const appends = []
  // In turn, so that whatever else the machine does meets both.
  for (let i = 0; i < 9; i++) {
    appends.push(await median(30, () => log.append(person, [message])))
    runs.push(await writesOfRun(call))
  }
  appends.sort((one, other) => one - other)
  runs.sort((one, other) => one.ms - other.ms)
  const {ms, transactions} = runs[4]!
  const step = `durable writes of one step with ${what} (${transactions.toFixed(1)} transactions)`
  report(step, {name: 'one strict append', ms: appends[4]!}, ms, '≤ 3×')
})

test('opening a session of 10,000 events and finding its next step, against reading its last 50 events', async () => {
  const id = env.id('session')
  await fillSession(store, id, 10_000)
  const read = await median(50, () => store.read(id, 50))
  const open = await median(50, async () => {
    const log = await openLog(id)
    nextStep(log.state, {device: (await store.device()).id, agents: [await describeAgent(desk)], now: 0})
  })
  report('open at 10k events + next step', {name: 'read of the last 50 events', ms: read}, open, '≤ 1.5×')
})

test('preparing a view at 100,000 events, against 1,000', async () => {
  const [small, large] = [env.id('session'), env.id('session')]
  await fillSession(store, small, 1000)
  await fillSession(store, large, 100_000)
  const atSmall = await median(30, () => prepare(small))
  const atLarge = await median(30, () => prepare(large))
  report('prepare a view at 100k events', {name: 'at 1k events', ms: atSmall}, atLarge, '≤ 1.2×')
})
