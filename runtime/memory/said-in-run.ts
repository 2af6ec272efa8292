import type {LoggedEvent} from '../protocol/event.ts'
import type {RunId} from '../protocol/ids.ts'
import {redactText} from '../protocol/redact-secrets.ts'
import {textStart} from '../protocol/text.ts'
import type {DurableEvent} from '../protocol/transcript.ts'
import type {SaidLine} from './extractor.ts'

/** An extractor reads so many lines of a run, the last ones, and so much of each. */
const readLines = 80
const readCharacters = 4000

const ends = ['run.completed', 'run.failed', 'run.cancelled']

/**
 * What was said in one run, from a window of its session's events in log order: the messages since the run before it
 * ended, and the agent's own words. Documents, slots, tool results and facts are none of it, and neither is what the
 * server refused. [WRK-4, MEM-2]
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
