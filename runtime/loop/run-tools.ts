import {HoldfastError, parse} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import type {FactReading} from '../protocol/fact.ts'
import {type Json, jsonBytes, jsonSchema} from '../protocol/json.ts'
import {redactSecrets} from '../protocol/redact-secrets.ts'
import {sleepSchema} from '../protocol/run.ts'
import type {CallState} from '../protocol/session.ts'
import type {Basis, ToolContract} from '../protocol/tool.ts'
import {limits} from '../protocol/version.ts'
import {beforeAbort} from './before-abort.ts'
import type {LocalToolContext, ToolContext} from './define.ts'

export type ToolFunction = (input: unknown, context: ToolContext | LocalToolContext) => Promise<unknown> | unknown
export type ReadFact = (key: string) => Promise<FactReading | null>

export type ToolRun = {
  call: CallState
  tool: ToolContract
  implementation: ToolFunction | undefined
  deadlineMs: number
  signal: AbortSignal
  readFact: ReadFact
  readFacts(keys: readonly string[]): Promise<(FactReading | null)[]>
  context: Pick<ToolContext, 'session' | 'run' | 'slots'> & Partial<Pick<LocalToolContext, 'sql' | 'document'>>
}

/** Why the run as a whole stopped a call, as opposed to the call failing by itself. */
export type ToolReturn = DataOf<'tool.returned'>

/**
 * Runs one read or local tool to a result that can be stored; a throw, a bad value and a missed deadline are results
 * too, so that the model can go on. Records which fact versions were read; what is shaped like a credential is left
 * out, since from here a result reaches the log and the model. [OP-2, LOG-4, BUD-1, VIEW-5]
 *
 * @throws whatever `signal` was aborted with: then there is no result
 */
export async function runTool(run: ToolRun): Promise<ToolReturn> {
  const basis: Basis = {}
  const wishes: SleepWish[] = []
  const answer = (outcome: ToolReturn['outcome'], output: Json): ToolReturn => ({
    call: run.call.id,
    outcome,
    output,
    ...(Object.keys(basis).length > 0 && {basis}),
    ...(outcome === 'ok' && wishes[0] && {sleep: wishes[0]}),
  })
  try {
    const output = await withDeadline(run, signal => invoke(run, signal, {basis, wishes}))
    const fault = unstorable(output ?? null)
    return fault === null
      ? answer('ok', redactSecrets((output ?? null) as Json))
      : answer('error', {error: `${run.tool.name} returned ${fault}`})
  } catch (error) {
    run.signal.throwIfAborted()
    return answer('error', {error: HoldfastError.from(error, 'tool_failed').message.slice(0, 2000)})
  }
}

/** What is wrong with a result that the log cannot take, or null. [LOG-5] */
function unstorable(output: unknown): string | null {
  const checked = jsonSchema.safeParse(output)
  if (!checked.success) return `what JSON cannot hold: ${checked.error.issues[0]?.message}`
  const bytes = jsonBytes(output)
  return bytes > limits.valueBytes ? `${bytes} bytes; at most ${limits.valueBytes} are taken` : null
}

type SleepWish = NonNullable<ToolReturn['sleep']>
/** What a call leaves behind besides its output. */
type Traces = {basis: Basis; wishes: SleepWish[]}

async function invoke(run: ToolRun, signal: AbortSignal, {basis, wishes}: Traces): Promise<unknown> {
  if (!run.implementation)
    throw new HoldfastError('misconfigured', `tool ${run.tool.name} has no implementation in this build`)
  const input = run.tool.input.parse(run.call.input)
  const facts = {
    read: async (key: string) => {
      const reading = await run.readFact(key)
      if (reading) basis[key] = reading.version
      return reading
    },
    readMany: async (keys: readonly string[]) => {
      const readings = await run.readFacts(keys)
      for (const reading of readings) if (reading) basis[reading.key] = reading.version
      return readings
    },
  }
  const sleepUntil: ToolContext['sleepUntil'] = (until, why = `${run.tool.name} asked to wait.`) => {
    wishes[0] = parse(sleepSchema, {until, why}, `${run.tool.name}: sleepUntil`)
  }
  return await run.implementation(input, {...run.context, call: run.call.id, signal, facts, sleepUntil})
}

async function withDeadline<T>(run: ToolRun, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const timeout = AbortSignal.timeout(run.deadlineMs)
  const signal = AbortSignal.any([run.signal, timeout])
  run.signal.throwIfAborted()
  try {
    return await beforeAbort(signal, work(signal))
  } catch (error) {
    if (!timeout.aborted || run.signal.aborted) throw error
    throw new HoldfastError('deadline', `${run.tool.name} did not answer within ${run.deadlineMs} ms`)
  }
}
