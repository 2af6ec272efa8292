import type {EventOf, LoggedEvent} from '../protocol/event.ts'
import type {EventId} from '../protocol/ids.ts'
import type {Manifest, Transform} from '../protocol/manifest.ts'
import {isFenced, type SessionState} from '../protocol/session.ts'
import {textStart} from '../protocol/text.ts'
import type {UnitOfWork} from '../storage/device-store.ts'
import {canonicalHash} from './canonical-hash.ts'
import type {Agent} from './define.ts'
import type {LoopParts} from './perform-step.ts'
import {inOrderSeen, isForModel, isMessage, windowKinds} from './select-events.ts'
import {memoryItems, windowEvents} from './view-budget.ts'
import type {MemoryItem} from './view-memory.ts'
import type {Beside} from './view-sections.ts'

type Parts = Pick<LoopParts, 'log' | 'store' | 'documents' | 'memory' | 'environment'>
export type Compacted = EventOf<'view.compacted'>

/** Everything that a view is built from, read once, with the references that find it again. [VIEW-1, VIEW-2] */
export type ViewSources = {
  seen: LoggedEvent[]
  beside: Beside
  references: Pick<Manifest, 'summary' | 'slots' | 'documents' | 'memory'>
  transforms: Transform[]
}

/** What was read for a view; the state adds the rest. */
export type Read = {
  turns: LoggedEvent[]
  summary: Compacted | null
  documents: {name: string; text: string; snapshot: string}[]
  tooLong: string[]
  memory: MemoryItem[]
}

type Wanted = {agent: Agent; viewTokens: number; answers: readonly EventId[]}

export async function readSources(parts: Parts, state: SessionState, wanted: Wanted): Promise<ViewSources> {
  return sourcesOf(await readAll(parts, state, wanted), state, wanted)
}

export async function readAll(
  parts: Parts,
  state: SessionState,
  {agent, answers}: Pick<Wanted, 'agent' | 'answers'>,
): Promise<Read> {
  const turns = await readTurns(parts, state, answers)
  const summary = await lastSummary(parts, state)
  const memory = await recall(parts, arranged(turns, state, answers), agent.memory.maxItems)
  return {turns, summary, ...(await readDocuments(parts, agent)), memory}
}

export async function sourcesOf(read: Read, state: SessionState, {viewTokens, answers}: Wanted): Promise<ViewSources> {
  const {turns, summary, documents, tooLong, memory} = read
  const {slots} = state
  return {
    seen: arranged(turns, state, answers),
    beside: {viewTokens, summary, slots, documents, memory},
    references: {
      ...(summary && {summary: summary.id}),
      ...(Object.keys(slots).length > 0 && {slots: await canonicalHash(slots)}),
      ...(documents.length > 0 && {documents: documents.map(({name, snapshot}) => ({name, snapshot}))}),
      ...(memory.length > 0 && {memory: memory.map(({id, revision}) => ({id, revision}))}),
    },
    transforms: tooLong.map(name => ({part: `document:${name}`, how: 'left_out'})),
  }
}

/** What was read, with what this device has appended since; null for an edit that is not stored yet, to read it back. */
export async function readFurther(
  {documents: reader, log}: Pick<Parts, 'documents' | 'log'>,
  agent: Agent,
  read: Read,
  {events, unit}: {events: readonly LoggedEvent[]; unit: UnitOfWork | null},
): Promise<Read | null> {
  const further = {...read, turns: [...read.turns, ...events.filter(isInWindow)]}
  if (!events.some(({kind}) => kind === 'document.updated')) return further
  return unit && {...further, ...(await readDocuments({documents: reader, log}, agent, unit))}
}

function isInWindow({kind}: LoggedEvent): boolean {
  return (windowKinds as readonly string[]).includes(kind)
}

function arranged(turns: readonly LoggedEvent[], {queued}: SessionState, answers: readonly EventId[]): LoggedEvent[] {
  return inOrderSeen(turns, {answers, hidden: queued})
}

/** The newest events that a model can see, in any case the last message and those that this step answers. [VIEW-4] */
async function readTurns(
  {store, log}: Parts,
  state: SessionState,
  answers: readonly EventId[],
): Promise<LoggedEvent[]> {
  const recent = (await store.read(log.id, windowEvents, windowKinds))
    .filter(({event, durability}) => durability.status !== 'rejected' && !isLost(state, event))
    .map(({event}) => event)
  const spoken = recent.some(event => event.kind === 'message.posted')
  const last = spoken ? [] : (await store.read(log.id, 1, ['message.posted'])).map(({event}) => event)
  const here = new Set([...last, ...recent].map(({id}) => id))
  const older = answers.filter(id => !here.has(id))
  const before = older.length > 0 ? await store.byIds(older) : []
  return [...last, ...before, ...recent]
}

/** A pending event that the server will refuse: nothing may be built on it. [CUS-1] */
function isLost(state: SessionState, event: LoggedEvent): boolean {
  return event.seq === null && isFenced(state, event)
}

/** Rejected ones are stored too, so that the last one of all need not be the last that counts. */
async function lastSummary({store, log}: Parts, state: SessionState): Promise<Compacted | null> {
  const found = await store.read(log.id, 20, ['view.compacted'])
  const valid = found.findLast(({event, durability}) => durability.status !== 'rejected' && !isLost(state, event))
  return valid && isCompacted(valid.event) ? valid.event : null
}

export function isCompacted(event: LoggedEvent): event is Compacted {
  return event.kind === 'view.compacted' && !('unreadable' in event)
}

/** A document so often edited that its snapshot could not be recorded does not go in: what went in must be found again. */
async function readDocuments(
  {documents: reader, log}: Pick<Parts, 'documents' | 'log'>,
  agent: Agent,
  unit?: UnitOfWork,
): Promise<Pick<Read, 'documents' | 'tooLong'>> {
  const documents: Read['documents'] = []
  const tooLong: string[] = []
  for (const name of agent.documents ?? []) {
    const found = await reader.now(log.id, name, unit)
    if (!found) continue
    if (found.snapshot.length > longestSnapshot) tooLong.push(name)
    else documents.push({name, ...found})
  }
  return {documents, tooLong}
}

/** Characters of base64; 32 KiB of snapshot. */
const longestSnapshot = 43_692

/** What is remembered about the newest message, as much as the agent's profile allows. [MEM-1, PIN-1] */
async function recall(
  {memory, environment}: Parts,
  seen: readonly LoggedEvent[],
  maxItems: number,
): Promise<MemoryItem[]> {
  const asked = seen.filter(isForModel).findLast(isMessage)
  const limit = Math.min(maxItems, memoryItems)
  if (!memory || !asked || limit === 0) return []
  return memory.recall({query: textStart(asked.data.text, 1000), limit, now: environment.now()})
}
