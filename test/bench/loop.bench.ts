import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, test} from 'vitest'
import {describeAgent} from '../../runtime/loop/describe-agent.ts'
import {nextStep} from '../../runtime/loop/next-step.ts'
import {prepareView} from '../../runtime/loop/prepare-view.ts'
import {inOrderSeen, windowKinds} from '../../runtime/loop/select-events.ts'
import {nothingBeside} from '../../runtime/loop/view-sections.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'
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

const openLog = async (id: SessionId) =>
  SessionLog.open({store, device: (await store.device()).id, environment: env, projections: []}, id)

const prepare = async (id: SessionId) => {
  const events = (await store.read(id, 400, windowKinds)).map(({event}) => event)
  const seen = inOrderSeen(events, {answers: [], hidden: []})
  return prepareView(desk, seen, {...nothingBeside, viewTokens: desk.budgets.viewTokens})
}

test('durable writes of one agent step, against one strict append', async () => {
  const id = env.id('session')
  await fillSession(store, id, 100)
  const log = await openLog(id)
  const post = () =>
    log.append({type: 'person', subject: 'bench' as never}, [{kind: 'message.posted', data: {text: 'x'.repeat(300)}}])
  const append = await median(200, post)
  // One step of a tool-calling turn: prepared, replied with its calls, called, returned.
  const step = await median(50, async () => {
    for (let i = 0; i < 4; i++) await post()
  })
  report('durable writes of one step (4 appends)', {name: 'one strict append', ms: append}, step, '≤ 3× (design §11)')
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
