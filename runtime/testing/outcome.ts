import {foldDocument, readText} from '../documents/shared-text.ts'
import {blobIdOf} from '../loop/storable-result.ts'
import {blobsOf} from '../protocol/blob.ts'
import {isReadable, type LoggedEvent} from '../protocol/event.ts'
import type {SessionId} from '../protocol/ids.ts'
import {type DurableEvent, type TranscriptEntry, transcriptOf} from '../protocol/transcript.ts'
import type {ServerLink} from '../sync/server-link.ts'
import type {TestDevice} from './test-device.ts'

/** The outcome of one session on one device. Two runs of one scenario have equal outcomes. */
export type SessionOutcome = {
  device: string
  transcript: unknown[]
  documents: Record<string, string>
  /** The number of events of each kind. `run.resumed` is not counted: it is the only event that a crash may add. */
  events: Record<string, number>
  rejected: number
}

export type Outcome = {sessions: SessionOutcome[]; effects: readonly string[]}

const everything = 1_000_000

/** Reads the stored records, and adds to `faults` what no run may contain. */
export async function outcomeOf(
  device: TestDevice,
  link: ServerLink | null,
  id: SessionId,
  faults: string[],
): Promise<SessionOutcome> {
  const events = await device.store.read(id, everything)
  const kept = events.filter(({durability}) => durability.status !== 'rejected').map(({event}) => event)
  faults.push(...callFaults(kept), ...(link ? await syncFaults(device.process.name, link, id, events) : []))
  faults.push(...(await blobFaults(device, link, kept)))
  const documents: Record<string, string> = {}
  for (const event of kept) {
    if (!isReadable(event) || event.kind !== 'document.updated') continue
    const {document} = event.data
    const stored = await device.store.document(id, document)
    documents[document] ??= stored ? readText(foldDocument(stored)) : ''
  }
  const counted: Record<string, number> = {}
  for (const {kind} of kept) if (kind !== 'run.resumed') counted[kind] = (counted[kind] ?? 0) + 1
  return {
    device: device.process.name,
    transcript: transcriptOf(events).map(lineOf),
    documents,
    events: counted,
    rejected: events.length - kept.length,
  }
}

/** Removes what differs between runs from an entry: ids, times, sequence numbers. */
function lineOf(entry: TranscriptEntry): unknown {
  const {id: _id, at: _at, durability, ...line} = entry
  if (line.type === 'tool') {
    const {call: _call, operation, ...tool} = line
    const {id: _operation, approval: _approval, ...told} = operation ?? {id: null, approval: null, none: true}
    return {...tool, operation: told, durability: durability.status}
  }
  return {...line, durability: durability.status}
}

/** Checks that every call has exactly one result. [LOG-6, LOG-7] */
function callFaults(events: readonly LoggedEvent[]): string[] {
  const results = new Map<string, number>()
  for (const event of events) {
    if (!isReadable(event)) continue
    if (event.kind === 'model.replied') {
      for (const part of event.data.content) if (part.type === 'call') results.set(part.call, 0)
    }
    if (event.kind === 'tool.returned') results.set(event.data.call, (results.get(event.data.call) ?? 0) + 1)
  }
  return [...results].flatMap(([call, count]) => (count > 1 ? [`${call} has ${count} results`] : []))
}

/** What an event holds is here or with the server, and is what its id says; what this device made is with the server too. [LOG-5] */
async function blobFaults(
  {store, process: {name}}: TestDevice,
  link: ServerLink | null,
  events: readonly LoggedEvent[],
): Promise<string[]> {
  const faults: string[] = []
  for (const event of events) {
    for (const {$blob} of blobsOf(event)) {
      const here = await store.blob(event.session, $blob)
      const there = (await link?.blob(event.session, $blob).catch(() => null)) ?? null
      for (const bytes of [here, there]) {
        if (bytes && (await blobIdOf(new Uint8Array(bytes))) !== $blob) faults.push(`${name}: ${$blob} is other bytes`)
      }
      if (!here && !there) faults.push(`${name}: ${$blob} is nowhere`)
      if (link && !there) faults.push(`${name}: ${$blob} never reached the server`)
    }
  }
  return faults
}

/** Checks that server and device have the same events. [LOG-2, SYNC-4] */
async function syncFaults(
  device: string,
  link: ServerLink,
  id: SessionId,
  events: readonly DurableEvent[],
): Promise<string[]> {
  const faults = events.flatMap(({event, durability}) =>
    durability.status === 'device' ? [`${device}: ${event.kind} never reached the server`] : [],
  )
  const here = events.flatMap(({event}) => (event.session === id && event.seq !== null ? [event.id] : []))
  const there: string[] = []
  for (;;) {
    const page = await link.pull(id, there.length)
    there.push(...page.events.map(event => event.id))
    if (!page.more) break
  }
  if (JSON.stringify(here) !== JSON.stringify(there)) faults.push(`${device}: its log is not the server's`)
  return faults
}

/** Returns the first difference of two outcomes, or null. Ids are compared by their kind only. */
export function difference(expected: unknown, actual: unknown): string | null {
  return differenceAt('', unnamed(expected), unnamed(actual))
}

function unnamed(value: unknown): unknown {
  const text = JSON.stringify(value)
  return JSON.parse(
    text.replace(/\b([a-z]{3})_[0-9a-f]{8}-[0-9a-f-]{27}\b/g, '$1_…').replace(/(after event) \d+/g, '$1 …'),
  )
}

function differenceAt(path: string, expected: unknown, actual: unknown): string | null {
  if (isObject(expected) && isObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const found = differenceAt(path ? `${path}.${key}` : key, expected[key], actual[key])
      if (found) return found
    }
    return null
  }
  if (expected === actual) return null
  return `${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
