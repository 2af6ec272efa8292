import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, test} from 'vitest'
import {documentProjection} from '../../runtime/documents/document-projection.ts'
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
import {buildPage} from '../support/build-page.ts'
import {launchChromium} from '../support/chromium.ts'
import {desk} from '../support/desk.ts'
import {fillSession} from '../support/fill-session.ts'
import {serveFolder} from '../support/serve-folder.ts'
import type {} from './fixture/page.ts'
import {median, report} from './support/report.ts'
import {measureStepWrites, type StepWrites, stepKinds} from './support/step-writes.ts'

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

function reportWrites(where: string, {ms, transactions, appendMs}: StepWrites): void {
  const what = `durable writes of one step ${where} (${transactions.toFixed(1)} transactions)`
  report(what, {name: 'one strict append', ms: appendMs}, ms, '≤ 3×')
}

test.each(Object.entries(stepKinds))(
  'durable writes of one agent step %s, against one strict append',
  async (how, tool) => {
    await database.db.exec('create table if not exists notes (text text)')
    reportWrites(`${how} on Node`, await measureStepWrites(store, tool))
  },
)

test('the same in a browser, where every transaction is flushed to a file', async () => {
  const site = await serveFolder(await buildPage(fileURLToPath(new URL('./fixture', import.meta.url))))
  const browser = await launchChromium()
  try {
    const page = await browser.context.newPage()
    await page.goto(site.url)
    for (const [how, tool] of Object.entries(stepKinds)) {
      reportWrites(`${how} in a browser`, await page.evaluate(tool => window.measureStepWrites(tool), tool))
    }
  } finally {
    await browser.close()
    await site.close()
  }
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
