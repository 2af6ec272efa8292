import type {Connection, SessionView} from '../runtime-types.ts'
import {refundsWords} from './refund.ts'
import {isUnderWay} from './session.ts'

/** Why a conversation cannot be closed; null when it can. */
export function whyNotClosed({erased, status}: Pick<SessionView, 'erased' | 'status'>): string | null {
  if (erased) return 'it was erased'
  return status === 'closed' ? 'it is closed already' : null
}

/** What closing does to this conversation as it stands now, a sentence each: nobody can take it back. */
export function closingSentences(
  {status, openOperations}: Pick<SessionView, 'status' | 'openOperations'>,
  connection: Connection['state'],
): string[] {
  const open = openOperations.filter(({voidable}) => voidable)
  const paying = openOperations.some(({voidable}) => !voidable)
  return [
    'Nobody can write to it any more, and it cannot be opened again. It can still be read and branched from.',
    ...(isUnderWay(status) ? ['The agent stops where it is.'] : []),
    ...(open.length > 0 ? [`${capital(refundsWords(open))} is withdrawn, if it has not started by then.`] : []),
    ...(paying ? ['What is being paid out now is not stopped by it.'] : []),
    ...(connection === 'live'
      ? []
      : ['The server is out of reach: until it hears of this, what was approved may still be paid.']),
  ]
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export type Ended = {title: string; detail: string}

/** What stands where one would write, once nothing more can be said; null while it can. */
export function endedWords({erased, closed}: Pick<SessionView, 'erased' | 'closed'>): Ended | null {
  if (erased) return {title: 'This conversation was erased', detail: 'Nothing can be added to it.'}
  if (closed === null) return null
  return {
    title: 'This conversation is closed',
    detail:
      closed === 'server'
        ? 'It can be read and branched from.'
        : 'That counts on this device; the server has not heard of it yet, so what was approved may still be paid.',
  }
}
