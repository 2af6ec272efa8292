import {mkdtemp, readdir, rm, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {LanguageModelV3, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import {afterAll, beforeAll, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool, openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {middle} from './support/report.ts'

/** Part of a day's work that is played: `HOLDFAST_SOAK=0.05 npm run bench -- soak` plays a twentieth. */
const scale = Number(process.env.HOLDFAST_SOAK ?? 1)
const size = {
  steps: Math.max(30, Math.round(5_000 * scale)),
  messages: Math.max(30, Math.round(1_000 * scale)),
  keystrokes: Math.max(100, Math.round(10_000 * scale)),
}
const hours = 6 * 3_600_000

const note = defineTool({
  name: 'note',
  description: 'Notes one thing.',
  effect: 'local',
  input: z.object({text: z.string()}),
})
const agent = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions: 'Note what you are told.',
  tools: [note],
  documents: ['draft'],
  summaries: 'rules',
  budgets: {maxSteps: 1_000, maxToolCalls: 1_000, maxTokens: 1_000_000_000, wallMs: hours},
})

/** Milliseconds of CPU that this process has used: other work on the machine does not change them. */
function cpuMs(): number {
  const {user, system} = process.cpuUsage()
  return (user + system) / 1000
}

/** Calls the tool until it has been asked so often, then says a last word; notes when it was asked. */
function countingModel(): LanguageModelV3 & {stepsLeft: number; readonly askedAt: number[]} {
  const model = {
    specificationVersion: 'v3' as const,
    provider: 'holdfast-bench',
    modelId: 'counting',
    supportedUrls: {},
    stepsLeft: 0,
    askedAt: [] as number[],
    doGenerate: () => Promise.reject(new Error('countingModel streams; call doStream')),
    async doStream() {
      model.askedAt.push(cpuMs())
      const calls = model.stepsLeft > 0
      model.stepsLeft -= 1
      return {stream: streamOf(calls)}
    },
  }
  return model
}

function streamOf(calls: boolean): ReadableStream<LanguageModelV3StreamPart> {
  const usage = {
    inputTokens: {total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0},
    outputTokens: {total: 5, text: 5, reasoning: 0},
  }
  const said: LanguageModelV3StreamPart[] = calls
    ? [{type: 'tool-call', toolCallId: 'call', toolName: 'note', input: JSON.stringify({text: 'One thing.'})}]
    : [
        {type: 'text-start', id: 't'},
        {type: 'text-delta', id: 't', delta: 'Noted.'},
        {type: 'text-end', id: 't'},
      ]
  const finishReason = {unified: calls ? ('tool-calls' as const) : ('stop' as const), raw: undefined}
  const parts: LanguageModelV3StreamPart[] = [
    {type: 'stream-start', warnings: []},
    ...said,
    {type: 'finish', finishReason, usage},
  ]
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

const model = countingModel()
let dataDir: string
let runtime: Awaited<ReturnType<typeof openRuntime>>
let session: Session
let frameBytes: number[] = []

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'holdfast-soak-'))
  runtime = await openRuntime({
    agent,
    model,
    tools: {note: async () => 'Noted.'},
    dataDir: join(dataDir, 'data'),
  })
  session = await runtime.openSession({agent: 'desk'})
  session.subscribe(view => frameBytes.push(JSON.stringify(view).length))
}, 600_000)
afterAll(async () => {
  await runtime.close()
  await rm(dataDir, {recursive: true, force: true})
}, 600_000)

const ms = (value: number | undefined) => `${Number(value).toFixed(2)} ms`
const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, {recursive: true, withFileTypes: true})
  const files = entries.filter(entry => entry.isFile())
  const sizes = await Promise.all(files.map(file => stat(join(file.parentPath, file.name)).then(({size}) => size)))
  return sizes.reduce((sum, one) => sum + one, 0)
}

async function measured(what: string, times: number[], events: number, before: Footprint): Promise<void> {
  // The view shows at most 100 entries and the prompt has a budget: cost grows until both are full, and may not after it.
  const from = times.length > 400 ? 150 : 5
  const [first, early, late] = [times.slice(5, 25), times.slice(from, from + 20), times.slice(-20)].map(middle)
  const now = await footprint()
  console.log(
    `${what}: at first ${ms(first)} of CPU, after ${from} ${ms(early)}, at last ${ms(late)} = ` +
      `${(Number(late) / Number(early)).toFixed(2)}× of that after ${from}, reach ≤ 1.3×; ` +
      `memory ${megabytes(before.memory)} → ${megabytes(now.memory)}; storage ${megabytes(before.storage)} → ` +
      `${megabytes(now.storage)}; ${events} events; largest view ${megabytes(Math.max(0, ...frameBytes))}`,
  )
  frameBytes = []
}

type Footprint = {memory: number; storage: number}
const footprint = async (): Promise<Footprint> => ({
  memory: process.memoryUsage().rss,
  storage: await folderBytes(dataDir),
})

async function eventsOf(kind: string): Promise<number> {
  const {rows} = await runtime.db.query<{n: number}>(
    'select count(*)::int as n from holdfast_events where session = $1 and kind = $2',
    [session.id, kind],
  )
  return rows[0]?.n ?? 0
}

/** Steps of one run, below what a budget may be. */
const stepsOfRun = 900

test(`${size.steps} steps`, async () => {
  const before = await footprint()
  const times: number[] = []
  for (let left = size.steps; left > 0; left -= stepsOfRun) {
    model.stepsLeft = Math.min(left, stepsOfRun)
    model.askedAt.length = 0
    await session.send('Note it all.')
    await session.settled()
    times.push(...model.askedAt.slice(1).map((at, i) => at - (model.askedAt[i] ?? at)))
  }
  await measured('a step', times, await eventsOf('step.prepared'), before)
}, 3_600_000)

test(`${size.messages} messages of 10 kB`, async () => {
  const before = await footprint()
  const times: number[] = []
  for (let i = 0; i < size.messages; i++) {
    const start = cpuMs()
    await session.send(`Message ${i}. ${'It arrived broken. '.repeat(526)}`)
    times.push(cpuMs() - start)
    await session.settled()
  }
  await measured('send', times, await eventsOf('message.posted'), before)
}, 3_600_000)

test(`${size.keystrokes} keystrokes in a document`, async () => {
  const before = await footprint()
  const draft = session.document('draft')
  const times: number[] = []
  const words = 'Dear Lena, we are sorry that the mug arrived broken. '
  let text = ''
  for (let i = 0; i < size.keystrokes; i++) {
    text += words[i % words.length]
    const start = cpuMs()
    void draft.edit(text)
    times.push(cpuMs() - start)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  await draft.flush()
  await measured('a keystroke', times, await eventsOf('document.updated'), before)
}, 3_600_000)
