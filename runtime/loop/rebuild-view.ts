import type {DocumentReader} from '../documents/document-reader.ts'
import type {EventOf, LoggedEvent} from '../protocol/event.ts'
import type {Json} from '../protocol/json.ts'
import type {ModelView} from '../protocol/model-view.ts'
import {manifestsAmong, shownEvents} from '../protocol/shown-events.ts'
import {foldSlots, noSlots, type Slots, slotHistoryKinds} from '../protocol/slots.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import {canonicalHash} from './canonical-hash.ts'
import type {Agent, AgentHost} from './define.ts'
import {buildView, type PreparedView} from './prepare-view.ts'
import {promptHash} from './prompt-hash.ts'
import {isForModel} from './select-events.ts'
import type {ViewMemory} from './view-memory.ts'
import {type Beside, nothingBeside} from './view-sections.ts'
import {isCompacted} from './view-sources.ts'

export type RebuildParts = {
  store: DeviceStore
  documents: DocumentReader
  memory?: ViewMemory | undefined
  hosts: readonly AgentHost[]
}
export type Prepared = EventOf<'step.prepared'>
type Lacking = ModelView['lacking']

/**
 * Rebuilds the prompt of a step from the records that its manifest names, and compares the hash. Later records are not
 * included, on any device and in any fork. [VIEW-2]
 *
 * @example
 * const {exact, lacking, view} = await rebuildView(parts, preparedEvent)
 */
export async function rebuildView(
  parts: RebuildParts,
  step: Prepared,
): Promise<{exact: boolean; lacking: Lacking; view: PreparedView}> {
  const {manifest} = step.data
  const lacking: Lacking = []
  const agent = agentOf(parts, step, lacking)
  const events = await eventsOf(parts, step, lacking)
  const beside = await besideOf(parts, step, lacking)
  const view = buildView(agent, events, beside, manifest.builder ?? 1)
  const exact = (await promptHash(view)) === manifest.promptHash
  if (exact) return {exact, lacking: [], view}
  if (lacking.length === 0) {
    lacking.push({part: 'prompt', why: 'Every part was found, but together they are not what was recorded.'})
  }
  return {exact, lacking, view}
}

/** As `rebuildView`, in words that travel to a page. */
export async function modelViewOf(parts: RebuildParts, step: Prepared): Promise<ModelView | null> {
  if (!step.run || !step.step) return null
  const {exact, lacking, view} = await rebuildView(parts, step)
  const {number, manifest} = step.data
  return {
    session: step.session,
    run: step.run,
    step: step.step,
    event: step.id,
    number,
    exact,
    lacking,
    prompt: view.prompt as Json,
    tools: view.tools as unknown as Json,
    promptHash: manifest.promptHash,
    estimatedTokens: manifest.estimatedTokens,
    transforms: manifest.transforms ?? [],
  }
}

const unknownAgent = {instructions: '', tools: []}

/** Instructions and tools are code: only a build that has that version can show them. [PIN-3] */
function agentOf({hosts}: RebuildParts, step: Prepared, lacking: Lacking): Pick<Agent, 'instructions' | 'tools'> {
  const wanted = step.data.manifest.agent
  const name = wanted?.name ?? (step.actor.type === 'agent' ? step.actor.name : null)
  const named = hosts.map(({agent}) => agent).filter(agent => agent.name === name)
  const found = wanted ? named.find(({version}) => version === wanted.version) : named[0]
  if (found) return found
  const version = wanted ? ` ${wanted.version}` : ''
  lacking.push({part: 'instructions', why: `This build does not have version${version} of the agent "${name}".`})
  return unknownAgent
}

async function eventsOf({store}: RebuildParts, step: Prepared, lacking: Lacking): Promise<LoggedEvent[]> {
  const {manifest} = step.data
  const {continues} = manifest
  const earlier = continues ? await store.byIds([continues.step]) : []
  const shown = shownEvents(manifest, manifestsAmong(earlier))
  if (!shown) lacking.push({part: 'turns', why: 'The step that this one goes on from is not on this device.'})
  const ids = shown ?? manifest.events
  const events = await store.byIds(ids)
  const usable = new Set(events.filter(isForModel).map(({id}) => id))
  for (const id of ids) {
    if (!usable.has(id)) lacking.push({part: id, why: 'This device does not have the event, or it was erased.'})
  }
  return events
}

async function besideOf(parts: RebuildParts, step: Prepared, lacking: Lacking): Promise<Beside> {
  const {viewTokens = 0, summary, excerpt} = step.data.manifest
  const [found] = summary ? await parts.store.byIds([summary]) : []
  const compacted = found && isCompacted(found) ? found : null
  if (summary && !compacted) lacking.push({part: 'summary', why: 'The summary is not on this device, or was erased.'})
  return {
    ...nothingBeside,
    viewTokens,
    excerpt,
    summary: compacted,
    slots: await slotsOf(parts, step, lacking),
    documents: await documentsOf(parts, step, lacking),
    memory: await memoryOf(parts, step, lacking),
  }
}

async function slotsOf({store}: RebuildParts, step: Prepared, lacking: Lacking): Promise<Slots> {
  const {slots: hash} = step.data.manifest
  if (!hash) return noSlots
  const slots = foldSlots(await slotEventsBefore(store, step))
  if ((await canonicalHash(slots)) === hash) return slots
  lacking.push({part: 'slots', why: 'The patches that made them are not all on this device.'})
  return noSlots
}

/** Only the holder of custody patches, so that what stands before its step in the log is what it saw. [WRK-1] */
async function slotEventsBefore(store: DeviceStore, step: Prepared): Promise<LoggedEvent[]> {
  if (step.seq !== null) return store.asOf(step.session, step.seq, slotHistoryKinds)
  const all = await store.read(step.session, Number.MAX_SAFE_INTEGER, slotHistoryKinds)
  return all
    .map(({event}) => event)
    .filter(event => event.seq !== null || (event.deviceSeq ?? 0) < (step.deviceSeq ?? 0))
}

async function documentsOf({documents}: RebuildParts, step: Prepared, lacking: Lacking): Promise<Beside['documents']> {
  const found: {name: string; text: string}[] = []
  for (const {name, snapshot} of step.data.manifest.documents ?? []) {
    const text = await documents.at(step.session, name, snapshot)
    if (text === null) lacking.push({part: `document:${name}`, why: 'Some of its edits are not on this device.'})
    else found.push({name, text})
  }
  return found
}

async function memoryOf({memory}: RebuildParts, step: Prepared, lacking: Lacking): Promise<Beside['memory']> {
  const refs = step.data.manifest.memory ?? []
  if (refs.length === 0) return []
  const found = (await memory?.byIds(refs)) ?? []
  for (const {id, revision} of refs) {
    if (found.some(item => item.id === id && item.revision === revision)) continue
    lacking.push({part: `memory:${id}`, why: `Revision ${revision} was changed, forgotten or erased since.`})
  }
  return found
}
