import type {MemoryEntry, MemoryRecord} from '../runtime-types.ts'
import type {Tone} from './refund.ts'

const kinds: Record<MemoryRecord['kind'], string> = {
  fact: 'Fact',
  preference: 'Preference',
  instruction: 'Instruction',
  episode: 'Event',
}

const statuses: Record<MemoryRecord['status'], {words: string; tone: Tone}> = {
  proposed: {words: 'Waits for you', tone: 'waiting'},
  accepted: {words: 'Remembered', tone: 'done'},
  corrected: {words: 'Corrected', tone: 'done'},
  superseded: {words: 'Replaced by something newer', tone: 'quiet'},
  expired: {words: 'Expired', tone: 'quiet'},
}

export function kindWords({kind, key}: MemoryRecord): string {
  return key === null ? kinds[kind] : `${kinds[kind]}, ${key.split('/').at(-1)?.replaceAll('-', ' ')}`
}

export function memoryStatus(item: MemoryRecord, now: number): {words: string; tone: Tone} {
  if (isOver(item, now) && item.status !== 'superseded') return statuses.expired
  return statuses[item.status]
}

function isOver({validUntil}: MemoryRecord, now: number): boolean {
  return validUntil !== null && validUntil <= now
}

/** In three parts, as the page shows them. */
export function sorted(entries: readonly MemoryEntry[], now: number) {
  const inForce = ({item}: MemoryEntry) =>
    (item.status === 'accepted' || item.status === 'corrected') && !isOver(item, now)
  return {
    waiting: entries.filter(({item}) => item.status === 'proposed'),
    remembered: entries.filter(inForce),
    over: entries.filter(entry => entry.item.status !== 'proposed' && !inForce(entry)),
  }
}

/** Who accepted the item, and how sure its author was. */
export function originWords({history, confidence, status}: MemoryRecord): string {
  const sure = `${Math.round(confidence * 100)}% sure`
  if (status === 'proposed') return sure
  const by = history.findLast(({did}) => did === 'accepted' || did === 'corrected')?.by
  switch (by?.type) {
    case 'person':
      return `${sure}, confirmed by you`
    case 'policy':
      return `${sure}, let in by the shop's policy`
    default:
      return sure
  }
}
