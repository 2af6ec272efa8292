import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, test} from 'vitest'
import {documentDraft, documentProjection} from '../../runtime/documents/document-projection.ts'
import {documentReader} from '../../runtime/documents/document-reader.ts'
import {applyUpdate, editText} from '../../runtime/documents/shared-text.ts'
import {defineAgent} from '../../runtime/loop/define.ts'
import {prepareView} from '../../runtime/loop/prepare-view.ts'
import {windowKinds} from '../../runtime/loop/select-events.ts'
import {manifestOf} from '../../runtime/loop/view-drafts.ts'
import {readSources} from '../../runtime/loop/view-sources.ts'
import {systemEnvironment as environment} from '../../runtime/platform/environment.ts'
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
  store = await openPGliteStore(database.db, environment)
}, 120_000)
afterAll(async () => {
  await database.close()
  await rm(dataDir, {recursive: true, force: true})
})

const agent = defineAgent({...desk, documents: ['plan']})
const person = {type: 'person', subject: 'bench'} as never

async function openLog(id: SessionId): Promise<SessionLog> {
  const {id: device} = await store.device()
  return SessionLog.open({store, device, environment, projections: [documentProjection]}, id)
}

/** A session with a plan, slots and a summary of all but its last events, as a long run leaves it. */
async function longSession(count: number) {
  const id = environment.id('session')
  await fillSession(store, id, count)
  const log = await openLog(id)
  await log.append(person, [documentDraft('plan', editText(null, 'Step by step. '.repeat(200))!)])
  const [first, ...rest] = (await store.read(id, 30, windowKinds)).map(({event}) => event)
  const to = rest[10]
  if (!first || !to) throw new Error('the session is too short')
  const summary = {from: first.id, to: to.id, summary: 'What was said. '.repeat(100), by: 'rules' as const}
  // Written past the log: the run that made it is not part of this picture.
  await store.transaction(async unit => {
    const summarised = [
      {
        ...to,
        id: environment.id('event'),
        seq: null,
        deviceSeq: count + 9,
        kind: 'view.compacted',
        data: {...summary, tokens: 1, events: 1},
      } as never,
    ]
    await unit.append(summarised, log.head)
  })
  return {log, state: {...log.state, slots: {order: 'A17', notes: 'x'.repeat(4000)}}}
}

async function prepare({log, state}: Awaited<ReturnType<typeof longSession>>) {
  const parts = {log, store, environment, documents: documentReader(store)}
  const sources = await readSources(parts, state, {agent, viewTokens: agent.budgets.viewTokens, answers: []})
  if (!sources.beside.summary || sources.beside.documents.length === 0) throw new Error('a part of the view is missing')
  const view = prepareView(agent, sources.seen, sources.beside)
  return manifestOf({agent, sources, view, answers: [], earlier: null})
}

test('preparing a view with summary, document and slots at 100,000 events, against 1,000', async () => {
  const small = await longSession(1000)
  const large = await longSession(100_000)
  await prepare(small)
  await prepare(large)
  const atSmall = await median(40, () => prepare(small))
  const atLarge = await median(40, () => prepare(large))
  report('prepare a whole view at 100k events', {name: 'at 1k events', ms: atSmall}, atLarge, '≤ 1.2×')
})

test('one keystroke in a document of 200 KB, against one in an empty document', async () => {
  const typing = async (start: string) => {
    const id = environment.id('session')
    const log = await openLog(id)
    await log.append(person, [{kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}])
    let doc: Uint8Array | null = null
    const updates: Uint8Array[] = []
    for (let at = 0; at < start.length; at += 20_000) updates.push(edited(start.slice(0, at + 20_000)))
    for (let i = 0; i < 300; i++) updates.push(edited(`${start}${'k'.repeat(i + 1)}`))
    for (const update of updates.slice(0, -300)) await log.append(person, [documentDraft('plan', update)])
    let next = updates.length - 300
    return median(200, () => log.append(person, [documentDraft('plan', updates[next++]!)]))

    function edited(text: string): Uint8Array {
      const update = editText(doc, text)!
      doc = applyUpdate(doc, update)
      return update
    }
  }
  const empty = await typing('')
  const full = await typing('All work and no play. '.repeat(9300))
  report('a keystroke in 200 KB', {name: 'in an empty document', ms: empty}, full, '≤ 2×')
})
