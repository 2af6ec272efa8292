import type {LoggedEvent} from '../protocol/event.ts'
import type {RunId} from '../protocol/ids.ts'
import {redactText} from '../protocol/redact-secrets.ts'
import {textStart} from '../protocol/text.ts'
import type {DurableEvent} from '../protocol/transcript.ts'
import type {SaidLine} from './extractor.ts'

/** An extractor reads at most the last `readLines` lines of a run and the first `readCharacters` of each. */
const readLines = 80
const readCharacters = 4000

const ends = ['run.completed', 'run.failed', 'run.cancelled']

/**
 * Returns the conversation of one run from its session's events in log order: messages since the end of the previous run,
 * and the agent's replies. It excludes documents, slots, tool results, facts and events that the server rejected.
 * [WRK-4, MEM-2]
 */
export function saidInRun(events: readonly DurableEvent[], run: RunId): SaidLine[] {
  const kept = events.filter(({durability}) => durability.status !== 'rejected').map(({event}) => event)
  const last = kept.findLastIndex(event => event.run === run)
  const started = kept.findIndex(event => event.run === run && event.kind === 'run.started')
  const before = kept.slice(0, Math.max(0, started)).findLastIndex(event => ends.includes(event.kind))
  return kept
    .slice(before + 1, last + 1)
    .flatMap(event => lineOf(event, run) ?? [])
    .slice(-readLines)
}

function lineOf(event: LoggedEvent, run: RunId): SaidLine | null {
  if ('unreadable' in event) return null
  const line = (from: SaidLine['from'], text: string): SaidLine | null => {
    const clean = textStart(redactText(text).trim(), readCharacters)
    return clean === '' ? null : {event: event.id, session: event.session, from, text: clean, at: event.at}
  }
  if (event.kind === 'message.posted') return line('person', event.data.text)
  if (event.kind !== 'model.replied' || event.run !== run) return null
  return line('agent', event.data.content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n'))
}
