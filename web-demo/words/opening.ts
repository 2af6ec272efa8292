import type {Opening} from '../runtime-types.ts'
import type {Tone} from './refund.ts'

export type OpeningWords = {
  tone: 'bad' | 'waiting'
  title: string
  /** What is the matter and what happens next, a sentence each. */
  sentences: string[]
  details: string | null
  /** What can help: another try, or the page of the newer version. */
  offers: 'retry' | 'reload' | null
}

type Steps = Record<Extract<Opening, {state: 'opening'}>['step'], string>
const steps: Steps = {
  script: 'The program is being loaded.',
  owner: 'Another tab has the data of this device and is being asked.',
  database: 'The data on this device is being opened.',
}

const ways: Record<Extract<Opening, {state: 'failed'}>['ways'][number], string> = {
  reload: 'Reload the page.',
  free_space: 'Make room on this device, then reload the page.',
  allow_storage: 'Allow this page to store data, or leave the private window.',
  close_other_tabs: 'Close the other tabs of this desk.',
  other_browser: 'Update this browser, or use another one.',
}

/** What a person is told while the desk is not open; null once it is. */
export function openingWords(opening: Opening, now: number): OpeningWords | null {
  switch (opening.state) {
    case 'open':
      return null
    case 'opening': {
      const {cause, step, nextAt} = opening
      if (!cause) {
        return {tone: 'waiting', title: 'Opening the desk', sentences: [steps[step]], details: null, offers: null}
      }
      return {
        tone: 'bad',
        title: 'The desk cannot open yet',
        sentences: [cause.message, nextSentence(nextAt, now)],
        details: cause.details,
        offers: cause.kind === 'new_version' ? 'reload' : 'retry',
      }
    }
    case 'blocked':
      return {
        tone: 'waiting',
        title: opening.by === 'frozen_tab' ? 'Another tab does not answer' : 'An older tab still has the data',
        sentences: [
          'It has the data of this device.',
          opening.nextAt === null
            ? 'This tab is taking it over.'
            : `This tab takes it over ${inSeconds(opening.nextAt, now)}.`,
          'Nothing that was saved is lost.',
        ],
        details: null,
        offers: null,
      }
    case 'failed':
      return {
        tone: 'bad',
        title: 'The desk cannot open',
        sentences: [opening.cause.message, ...opening.ways.map(way => ways[way])],
        details: opening.cause.details,
        offers: opening.ways.includes('reload') ? 'reload' : null,
      }
  }
}

/** What stands in place of the connection while the desk is not open: then nothing is known of the connection. */
export function openingStatus(opening: Opening): {words: string; tone: Tone} | null {
  if (opening.state === 'open') return null
  if (opening.state === 'opening' && !opening.cause) return {words: 'Opening', tone: 'quiet'}
  return {words: 'Not open', tone: opening.state === 'blocked' ? 'waiting' : 'bad'}
}

function nextSentence(nextAt: number | null, now: number): string {
  return nextAt === null || nextAt <= now ? 'Trying again now.' : `The next try is ${inSeconds(nextAt, now)}.`
}

function inSeconds(at: number, now: number): string {
  const seconds = Math.max(1, Math.ceil((at - now) / 1000))
  return seconds === 1 ? 'in 1 second' : `in ${seconds} seconds`
}
