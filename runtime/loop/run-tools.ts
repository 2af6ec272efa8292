import {type BlobId, blobIdSchema} from '../protocol/blob.ts'
import {HoldfastError, parse} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import type {FactReading} from '../protocol/fact.ts'
import type {Json} from '../protocol/json.ts'
import {sleepSchema} from '../protocol/run.ts'
import type {CallState} from '../protocol/session.ts'
import {textStart} from '../protocol/text.ts'
import type {Basis, ToolContract} from '../protocol/tool.ts'
import {beforeAbort} from './before-abort.ts'
import type {LocalToolContext, ToolContext} from './define.ts'
import {isReference} from './read-whole.ts'
import {type BlobContent, storableResult} from './storable-result.ts'

export type ToolFunction = (input: unknown, context: ToolContext | LocalToolContext) => Promise<unknown> | unknown
export type ReadFact = (key: string) => Promise<FactReading | null>

export type ToolRun = {
  call: CallState
  tool: ToolContract
  implementation: ToolFunction | undefined
  deadlineMs: number
  /** Returns a signal that aborts after `ms` milliseconds of work. Default: milliseconds of time. */
  deadline?(ms: number): {signal: AbortSignal; stop(): void}
  signal: AbortSignal
  readFact: ReadFact
  readFacts(keys: readonly string[]): Promise<(FactReading | null)[]>
  readBlob(blob: BlobId): Promise<Uint8Array>
  /** Reads the whole of a text that a view showed as an excerpt. */
  readWhole(reference: string): Promise<string>
  context: Pick<ToolContext, 'session' | 'run' | 'slots'> & Partial<Pick<LocalToolContext, 'sql' | 'document'>>
}

export type ToolReturn = DataOf<'tool.returned'>
/** A result with the bytes that it holds, to be stored together. */
export type ToolResult = {result: ToolReturn; blobs: readonly BlobContent[]}

/**
 * Runs one read or local tool to a result that can be stored; a throw, a bad value and a missed deadline are results
 * too, so that the model can go on. Records which fact versions were read; what is shaped like a credential is left
 * out, since from here a result reaches the log and the model. [OP-2, LOG-4, BUD-1, VIEW-5]
 *
 * @throws whatever `signal` was aborted with: then there is no result
 */
export async function runTool(run: ToolRun): Promise<ToolResult> {
  const basis: Basis = {}
  const wishes: SleepWish[] = []
  const answer = (outcome: ToolReturn['outcome'], output: Json, blobs: readonly BlobContent[] = []): ToolResult => ({
    result: {
      call: run.call.id,
      outcome,
      output,
      ...(blobs.length > 0 && {blobs: blobs.map(({ref}) => ref)}),
      ...(Object.keys(basis).length > 0 && {basis}),
      ...(outcome === 'ok' && wishes[0] && {sleep: wishes[0]}),
    },
    blobs,
  })
  try {
    const output = await withDeadline(run, signal => invoke(run, signal, {basis, wishes}))
    const storable = await storableResult(output ?? null)
    return 'fault' in storable
      ? answer('error', {error: `${run.tool.name} returned ${storable.fault}`})
      : answer('ok', storable.output, storable.blobs)
  } catch (error) {
    run.signal.throwIfAborted()
    return answer('error', {error: textStart(HoldfastError.from(error, 'tool_failed').message, 2000)})
  }
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
  const blobs: ToolContext['blobs'] = {
    read: async blob => {
      const named = typeof blob === 'string' ? blob : blob.$blob
      if (isReference(named)) return new TextEncoder().encode(await run.readWhole(named))
      return await run.readBlob(parse(blobIdSchema, named, `${run.tool.name}: blobs.read`))
    },
  }
  return await run.implementation(input, {...run.context, call: run.call.id, signal, facts, blobs, sleepUntil})
}

async function withDeadline<T>(run: ToolRun, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const {signal: timeout, stop} = run.deadline?.(run.deadlineMs) ?? {
    signal: AbortSignal.timeout(run.deadlineMs),
    stop: () => undefined,
  }
  const signal = AbortSignal.any([run.signal, timeout])
  run.signal.throwIfAborted()
  try {
    return await beforeAbort(signal, work(signal))
  } catch (error) {
    if (!timeout.aborted || run.signal.aborted) throw error
    throw new HoldfastError('deadline', `${run.tool.name} did not answer within ${run.deadlineMs} ms`)
  } finally {
    stop()
  }
}
