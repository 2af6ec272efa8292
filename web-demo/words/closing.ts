import type {Connection, SessionView, ToolEntry} from '../runtime-types.ts'
import {list, mayStillRun, refundInput} from './refund.ts'
import {isUnderWay} from './session.ts'

/** Why a conversation cannot be closed; null when it can. */
export function whyNotClosed({erased, status}: Pick<SessionView, 'erased' | 'status'>): string | null {
  if (erased) return 'it was erased'
  return status === 'closed' ? 'it is closed already' : null
}

/** What closing does to this conversation as it stands now, a sentence each: nobody can take it back. */
export function closingSentences(
  {status, entries}: Pick<SessionView, 'status' | 'entries'>,
  connection: Connection['state'],
): string[] {
  const tools = entries.filter((entry): entry is ToolEntry => entry.type === 'tool')
  const open = tools.filter(mayStillRun)
  const paying = tools.filter(({operation}) => operation?.status === 'started' || operation?.status === 'uncertain')
  return [
    'Nobody can write to it any more, and it cannot be opened again. It can still be read and branched from.',
    ...(isUnderWay(status) ? ['The agent stops where it is.'] : []),
    ...(open.length > 0 ? [`${refundsWords(open)} withdrawn, if it has not started by then.`] : []),
    ...(paying.length > 0 ? ['What is being paid out now is not stopped by it.'] : []),
    ...(connection === 'live'
      ? []
      : ['The server is out of reach: until it hears of this, what was approved may still be paid.']),
  ]
}

function refundsWords(open: readonly ToolEntry[]): string {
  const refunds = open.map(entry => refundInput(entry)).map(({amount, orderId}) => `${amount} for ${orderId}`)
  return `The refund of ${list(refunds)} is`
}

export type Ended = {title: string; detail: string}

/** What stands where one would write, once nothing more can be said; null while it can. */
export function endedWords({
  erased,
  status,
  entries,
}: Pick<SessionView, 'erased' | 'status' | 'entries'>): Ended | null {
  if (erased) return {title: 'This conversation was erased', detail: 'Nothing can be added to it.'}
  if (status !== 'closed') return null
  const closing = entries.findLast(entry => entry.type === 'notice' && entry.about === 'closed')
  const heard = closing?.durability.status !== 'device'
  return {
    title: 'This conversation is closed',
    detail: heard
      ? 'It can be read and branched from.'
      : 'That counts on this device; the server has not heard of it yet, so what was approved may still be paid.',
  }
}
