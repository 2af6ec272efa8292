import type {MemoryDraft, MemoryExtractor, SaidLine} from '../memory/extractor.ts'
import {saidInRun} from '../memory/said-in-run.ts'
import {HoldfastError, isOutOfReach, parse} from '../protocol/errors.ts'
import type {RunId, SessionId} from '../protocol/ids.ts'
import {type MemoryProposal, type MemoryRecord, type MemorySource, memoryProposalSchema} from '../protocol/memory.ts'
import {redactText} from '../protocol/redact-secrets.ts'
import type {RunToExtract} from '../storage/memory-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import type {DeviceMemoryParts} from './memory-parts.ts'

/** A window of this many events is searched for what was said in a run. */
const windowEvents = 1000
const extractionMs = 120_000
/** More from one run is noise. */
const draftsOfRun = 20

type Around = {known(): MemoryRecord[]; extracted(): Promise<void>}

/**
 * Extracts each run that has ended on this device, once: the run is noted when it ends, and what was found is queued
 * together with the note that it was looked at. The loop never waits for it. [MEM-2, MEM-4]
 */
export class MemoryExtraction {
  readonly #noted = new Set<RunId>()
  readonly #stop = new AbortController()
  #running: Promise<void> | null = null
  #again = false

  constructor(
    private readonly parts: DeviceMemoryParts,
    private readonly around: Around,
  ) {}

  look({id, state: {run}}: SessionLog): void {
    if (!this.parts.extractor || !run?.ended || run.ended === 'failed_retryable' || this.#noted.has(run.id)) return
    // Only one device extracts a run: the last one that worked on it. Custody may have moved since the run ended.
    // [MEM-5]
    if (run.worker.holder !== null && run.worker.holder !== this.parts.device) return
    this.#noted.add(run.id)
    this.parts.memory.runs.note(run.id, id).then(
      () => this.soon(),
      () => this.#noted.delete(run.id),
    )
  }

  soon(): void {
    const {extractor} = this.parts
    if (!extractor || this.#stop.signal.aborted) return
    this.#again = true
    this.#running ??= this.#extractAll(extractor).finally(() => {
      this.#running = null
    })
  }

  async close(): Promise<void> {
    this.#stop.abort(new HoldfastError('cancelled', 'the runtime was closed'))
    await this.#running
  }

  async #extractAll(extractor: MemoryExtractor): Promise<void> {
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false
      for (const run of await this.parts.memory.runs.waiting().catch(() => [])) await this.#attempt(extractor, run)
    }
  }

  async #attempt(extractor: MemoryExtractor, waiting: RunToExtract): Promise<void> {
    try {
      await this.#extract(extractor, waiting)
    } catch (caught) {
      const error = HoldfastError.from(caught, 'model_failed')
      // It stays noted: the next connection tries again.
      if (this.#stop.signal.aborted || mayPass(error)) return
      await this.parts.memory.runs.finish(waiting.run, {fault: error.message}).catch(() => undefined)
      await this.around.extracted().catch(() => undefined)
    }
  }

  async #extract(extractor: MemoryExtractor, {run, session}: RunToExtract): Promise<void> {
    const {memory, gateway, store} = this.parts
    const lines = saidInRun(await store.read(session, windowEvents), run)
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(extractionMs)])
    const known = this.around.known()
    const drafts = lines.length > 0 ? await extractor.extract({session, run, lines, known}, {gateway, signal}) : []
    if (this.#stop.signal.aborted) return
    const proposals = drafts.slice(0, draftsOfRun).map(draft => this.#proposal(extractor, draft, lines))
    await memory.runs.finish(run, {proposals})
    await this.around.extracted()
  }

  #proposal({name}: MemoryExtractor, draft: MemoryDraft, lines: readonly SaidLine[]): MemoryProposal {
    const {events, text, key, kind, confidence, validFrom, validUntil, supersedes} = draft
    return parse(
      memoryProposalSchema,
      {
        id: this.parts.environment.id('memory'),
        text: redactText(text),
        key: key ?? null,
        kind,
        sources: sourcesOf(events, lines),
        validFrom: validFrom ?? null,
        validUntil: validUntil ?? null,
        confidence,
        supersedes: supersedes ?? null,
        extractor: name,
      },
      `extractor ${name}`,
    )
  }
}

/** Only lines that the extractor was shown can be sources. */
function sourcesOf(events: MemoryDraft['events'], lines: readonly SaidLine[]): MemorySource[] {
  const bySession = new Map<SessionId, MemorySource['events']>()
  for (const {event, session} of lines) {
    if (events.includes(event)) bySession.set(session, [...(bySession.get(session) ?? []), event])
  }
  return [...bySession].map(([session, events]) => ({session, events}))
}

function mayPass(error: HoldfastError): boolean {
  return isOutOfReach(error) || error.details.retryable === true
}
