import type {PGlite} from '@electric-sql/pglite'
import {type Agent, agentHost, type ModelSource, type ToolImplementations} from '../loop/define.ts'
import type {LanguageModel} from '../loop/language-model.ts'
import type {Session} from '../page/page-runtime.ts'
import {systemEnvironment} from '../platform/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {SessionView} from '../protocol/session-view.ts'
import {openPGliteStore} from '../storage/pglite-store.ts'
import {httpLink} from '../sync/http-link.ts'
import {type CaseCount, countCase} from './count-case.ts'
import {CrashPoints} from './crash-points.ts'
import type {TestServer} from './server-process.ts'
import {openTestDatabase} from './test-database.ts'
import {openTestDevice, type TestDevice} from './test-device.ts'

/** The classes of cases: normal work, and inputs that an agent must handle safely. */
export const caseClasses = [
  'normal',
  'ambiguous',
  'missing-data',
  'malformed',
  'denied',
  'provider-error',
  'adversarial',
] as const
export type CaseClass = (typeof caseClasses)[number]

export type EvaluationCase = {
  name: string
  class: CaseClass
  /** The person's messages. Each is sent when nothing is left to do about the previous one. */
  says: readonly string[]
  /** The decision on everything that waits for approval. Default: none, so it keeps waiting. */
  decides?: 'approve' | 'reject'
  /** Wraps the model to simulate faults: an outage, a cut reply, a call that is not JSON. */
  model?(model: LanguageModel): LanguageModel
  /** Returns null when the case passed, otherwise what is wrong. Check outcomes, not times or exact wording. */
  fault(end: CaseEnd): string | null
}

/** How a case ended. */
export type CaseEnd = CaseCount & {
  view: SessionView
  /** All replies of the agent, oldest first. */
  said: string[]
  /** The effects in outside systems, as `world.effects` returns them. */
  effects: readonly string[]
}

/** The server and outside systems of one case, created for each case so that cases are independent. */
export type CaseWorld = {
  server: TestServer
  /** The bearer tokens of the person and of an approver. */
  token: string
  approver?: string
  /** The person that the token identifies. Default: `maya`. */
  subject?: string
  effects?(): readonly string[] | Promise<readonly string[]>
}

export type Evaluated<Served extends Agent> = {
  agent: Served
  model: ModelSource
  tools: ToolImplementations<Served['tools']>
  /** Default: none, so the agent has no server, no operations and no facts. */
  world?(): Promise<CaseWorld>
  /** How often a run with a temporary failure is retried. Default: 2. */
  retries?: number
}

export type CaseResult = CaseCount & {name: string; class: CaseClass; fault: string | null}
export type EvaluationReport = {
  results: CaseResult[]
  /** One row per class, in the order of `caseClasses`. */
  classes: {class: CaseClass; passed: number; total: number; steps: number; tokens: number; recovered: number}[]
}

/**
 * Runs cases with an agent, each with the real loop on its own device, and counts the outcomes per class. A case that
 * throws counts as failed; the other cases still run. [OBS-3]
 *
 * @throws HoldfastError `misconfigured` when two cases have one name
 * @example
 * const report = await evaluate(cases, {agent: desk, model: myModel, tools, world: openWorld})
 * console.log(evaluationTable(report))
 */
export async function evaluate<Served extends Agent>(
  cases: readonly EvaluationCase[],
  evaluated: Evaluated<Served>,
): Promise<EvaluationReport> {
  const twice = cases.find(({name}, i) => cases.findIndex(other => other.name === name) !== i)
  if (twice) throw new HoldfastError('misconfigured', `evaluate: two cases are named "${twice.name}"`)
  const database = await openTestDatabase()
  try {
    // Creates the tables first, so that a restore empties them instead of dropping them.
    await openPGliteStore(database.db, systemEnvironment)
    const restore = await database.snapshot()
    const results: CaseResult[] = []
    for (const one of cases) {
      results.push(await play(one, evaluated, database.db))
      await restore()
    }
    return {results, classes: caseClasses.map(name => rowOf(name, results))}
  } finally {
    await database.close()
  }
}

const nothing: CaseCount = {steps: 0, tokens: 0, metTrouble: false, recovered: false}

async function play<Served extends Agent>(
  one: EvaluationCase,
  evaluated: Evaluated<Served>,
  db: PGlite,
): Promise<CaseResult> {
  const named = {name: one.name, class: one.class}
  try {
    const end = await endOf(one, evaluated, db)
    const {steps, tokens, metTrouble, recovered} = end
    return {...named, steps, tokens, metTrouble, recovered, fault: one.fault(end)}
  } catch (error) {
    return {...named, ...nothing, fault: HoldfastError.from(error).message}
  }
}

async function endOf<Served extends Agent>(
  one: EvaluationCase,
  {agent, model, tools, world: openWorld, retries = 2}: Evaluated<Served>,
  db: PGlite,
): Promise<CaseEnd> {
  const world = (await openWorld?.()) ?? null
  const linkOf = (token: string) =>
    httpLink({
      url: 'http://evaluation.test',
      token: async () => token,
      fetch: async (input, init) => (world as CaseWorld).server.fetch(new Request(input, init)),
    })
  const device = await openTestDevice({
    db,
    process: new CrashPoints().process(one.name, {counted: false}),
    hosts: [agentHost(agent, {model: between(model, one), tools})],
    environment: systemEnvironment,
    link: world && linkOf(world.token),
    subject: world?.subject ?? 'maya',
  })
  try {
    const session = await device.page(systemEnvironment).openSession({agent: agent.name})
    const decide = async () => {
      if (world?.approver && one.decides) await decideAll(linkOf(world.approver), one.decides)
    }
    for (const text of one.says) {
      await session.send(text)
      await settle(session, {decide, retries, waits: one.decides !== undefined})
    }
    return await lookAt(device, session, world)
  } finally {
    await device.close()
    await world?.server.close?.()
  }
}

function between(source: ModelSource, {model: put}: EvaluationCase): ModelSource {
  if (!put) return source
  return typeof source === 'function' ? async host => put(await source(host)) : put(source)
}

/** Waits until neither the agent, an approver nor a retry of the person would change anything. */
async function settle(
  session: Session,
  {decide, retries, waits}: {decide(): Promise<void>; retries: number; waits: boolean},
): Promise<void> {
  for (let left = retries; ; ) {
    const {status} = await session.settled()
    if (status === 'waiting_for_approval' && waits) await decide().then(() => decided(session))
    else if (status === 'failed_retryable' && left > 0) {
      left -= 1
      await session.retry()
    } else return
  }
}

/** The server has the decision at once, this device a moment later. */
function decided(session: Session): Promise<void> {
  return new Promise(resolve => {
    const stop = session.subscribe(view => {
      if (view.status === 'waiting_for_approval') return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}

async function decideAll(link: ReturnType<typeof httpLink>, verdict: 'approve' | 'reject'): Promise<void> {
  for (const {approval, digest} of await link.inbox('open')) await link.decide(approval, {verdict, digest})
}

async function lookAt(device: TestDevice, session: Session, world: CaseWorld | null): Promise<CaseEnd> {
  const view = await session.settled()
  const events = (await device.store.read(session.id, 1_000_000)).map(({event}) => event)
  const said = view.entries.flatMap(entry => (entry.type === 'reply' ? [entry.text] : []))
  return {view, said, effects: (await world?.effects?.()) ?? [], ...countCase(events)}
}

function rowOf(name: CaseClass, results: readonly CaseResult[]): EvaluationReport['classes'][number] {
  const own = results.filter(one => one.class === name)
  const sum = (of: (one: CaseResult) => number) => own.reduce((total, one) => total + of(one), 0)
  return {
    class: name,
    passed: own.filter(({fault}) => fault === null).length,
    total: own.length,
    steps: sum(({steps}) => steps),
    tokens: sum(({tokens}) => tokens),
    recovered: own.filter(({recovered}) => recovered).length,
  }
}
