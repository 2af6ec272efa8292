import type {TranscriptEntry} from '../runtime-types.ts'

/** Why a line stands between the others; what the record says in ids is said in words. */
export function noticeWords({about, text}: Extract<TranscriptEntry, {type: 'notice'}>): string {
  switch (about) {
    case 'forked':
      return 'Branched from here. The other conversation goes on by itself, and what was paid there stays paid.'
    case 'closed':
      return `Closed for good: ${text}`
    case 'failed':
      return `The run stopped: ${text}`
    case 'unreadable':
      return `An entry that this version cannot read is kept: ${text}`
    default:
      return text
  }
}
