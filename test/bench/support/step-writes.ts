import * as z from 'zod'
import {gatewayOf} from '../../../runtime/device/gateway-of.ts'
import {openDocumentEditor} from '../../../runtime/documents/document-editor.ts'
import {documentProjection} from '../../../runtime/documents/document-projection.ts'
import {documentReader} from '../../../runtime/documents/document-reader.ts'
import {agentHost, defineAgent, defineTool} from '../../../runtime/loop/define.ts'
import {RunLoop} from '../../../runtime/loop/run-loop.ts'
import {systemEnvironment as env} from '../../../runtime/platform/environment.ts'
import type {DeviceStore, UnitOfWork} from '../../../runtime/storage/device-store.ts'
import {SessionLog} from '../../../runtime/storage/session-log.ts'
import {proxied} from '../../../runtime/testing/crashable-store.ts'
import {promptModel} from '../../../runtime/testing/prompt-model.ts'
import {fillSession} from '../../support/fill-session.ts'
import {middle} from './report.ts'

const lookUp = defineTool({name: 'lookUp', description: 'Read one order.', effect: 'read', input: z.strictObject({})})
const jot = defineTool({name: 'jot', description: 'Keep in mind.', effect: 'local', input: z.strictObject({})})
const note = defineTool({name: 'note', description: 'Write it down.', effect: 'local', input: z.strictObject({})})
const agent = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions: 'You read orders.',
  tools: [lookUp, jot, note],
})

export const stepKinds = {
  'with a read': 'lookUp',
  'with a local tool': 'jot',
  'with a local tool that runs a query and edits a document': 'note',
} as const
export type StepWrites = {ms: number; transactions: number; appendMs: number}

const person = {type: 'person', subject: 'bench'} as never
const message = {kind: 'message.posted', data: {text: 'x'.repeat(300)}} as const
const stepsOfRun = 15

/**
 * The medians of 9 runs, of each the means; at each step one message is appended elsewhere, so that both meet the same
 * caches, and the same pauses of the machine.
 */
export async function measureStepWrites(store: DeviceStore, tool: string): Promise<StepWrites> {
  const rounds: StepWrites[] = []
  for (let i = 0; i < 9; i++) rounds.push(await round(store, tool))
  return {
    ms: middle(rounds.map(({ms}) => ms)),
    transactions: middle(rounds.map(({transactions}) => transactions)),
    appendMs: middle(rounds.map(({appendMs}) => appendMs)),
  }
}

async function round(store: DeviceStore, tool: string): Promise<StepWrites> {
  const [run, other] = [await openWatched(store), await openWatched(store)]
  await runOf(run, tool, () => other.log.append(person, [message]))
  const {ms, transactions} = run.total
  return {
    ms: ms / stepsOfRun,
    transactions: transactions / stepsOfRun,
    appendMs: other.total.ms / other.total.transactions,
  }
}

type Watched = Awaited<ReturnType<typeof openWatched>>

/**
 * A session of 100 events, and what its transactions have taken of the time, and how many they were: only what the
 * database does counts, not what a tool or the loop computes while one is open.
 */
async function openWatched(store: DeviceStore) {
  const id = env.id('session')
  await fillSession(store, id, 100)
  const total = {ms: 0, transactions: 0}
  const transaction: DeviceStore['transaction'] = async work => {
    const start = performance.now()
    let computed = 0
    const result = await store.transaction(async unit => {
      const began = performance.now()
      const waited = {ms: 0}
      const outcome = await work(timed(unit, waited))
      computed = performance.now() - began - waited.ms
      return outcome
    })
    total.ms += performance.now() - start - computed
    total.transactions += 1
    return result
  }
  const device = (await store.device()).id
  const parts = {store: {...store, transaction}, device, environment: env, projections: [documentProjection]}
  return {log: await SessionLog.open(parts, id), total, parts}
}

/** The unit, adding up what its calls take. */
function timed(unit: UnitOfWork, waited: {ms: number}): UnitOfWork {
  return proxied(unit, (_, method) => async (...args: unknown[]) => {
    const start = performance.now()
    try {
      return await method(...args)
    } finally {
      waited.ms += performance.now() - start
    }
  })
}

/** The real loop at a run in which every step calls the tool; its beginning and its end are counted in. */
async function runOf(
  {log, total, parts: {store, device}}: Watched,
  tool: string,
  beside: () => Promise<void>,
): Promise<void> {
  let asked = 0
  const scripted = promptModel(() => (asked++ < stepsOfRun ? {calls: [{tool, input: {}}]} : {text: 'Done.'}))
  const model: typeof scripted = {
    ...scripted,
    async doStream(options) {
      await beside()
      return await scripted.doStream(options)
    },
  }
  const order = {value: {cents: 8900}, version: '1', key: 'order/A17', source: 'server', ageMs: 0} as never
  // What the person wrote is no part of a step.
  await log.append(person, [message])
  total.ms = total.transactions = 0
  const loop = new RunLoop({
    log,
    store,
    device,
    hosts: [
      agentHost(agent, {
        model,
        tools: {
          lookUp: async (_, {facts}) => (await facts.read('order/A17'))?.value ?? null,
          jot: async () => ({kept: true}),
          note: async (_, {sql, document}) => {
            await sql('insert into notes (text) values ($1)', ['Wants the money back.'])
            await document.write('draft', `Wants the money back. ${asked}`)
            return {written: true}
          },
        },
      }),
    ],
    environment: env,
    gateway: gatewayOf(null),
    readFact: async () => order,
    readFacts: async keys => keys.map(() => order),
    readBlob: async () => new Uint8Array(),
    openDocuments: openDocumentEditor,
    documents: documentReader(store),
    onText: () => {},
  })
  const ended = new Promise<void>((resolve, reject) => {
    log.onChange(() => log.state.run?.ended && resolve())
    loop.onChange(() => loop.state.waiting && reject(new Error(loop.state.waiting.why)))
  })
  loop.wake()
  await ended
  await loop.close()
  if (log.state.run?.ended !== 'completed') throw new Error(`The run ${log.state.run?.ended}.`)
}
