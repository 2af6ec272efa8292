import {local, ofTab, type SafeStorage} from './safe-storage.ts'

/**
 * Remembers which conversation a page is about to show, until it is shown. A mark that is still there at the next start
 * names the conversation that the page did not survive: it ran out of memory, or never came back from a layout.
 */
export type CrashMarks = {
  /** Call before a view is rendered. */
  begin(session: string): void
  /** Call when the view is on the screen, or the page is left in order. */
  end(): void
  /** Whether an earlier page did not survive showing this conversation. */
  crashed(session: string): boolean
  /** The person wants to try it again. */
  forgive(session: string): void
}

/** Another tab that has shown a conversation for less than this, in milliseconds, is only busy. */
const patienceMs = 5_000
const prefix = 'showing:'

type Parts = {shared: SafeStorage; tab: SafeStorage; page: string; now: () => number}
type Mark = {key: string; session: string; at: number}

export function crashMarks({shared, tab, page, now}: Parts): CrashMarks {
  const own = prefix + page
  const earlier = tab.read('page')
  tab.write('page', page)
  let marked: string | null = null

  const marks = (): Mark[] =>
    shared.keys().flatMap(key => {
      if (!key.startsWith(prefix) || key === own) return []
      const [session = '', at = ''] = (shared.read(key) ?? '').split(' ')
      return [{key, session, at: Number(at)}]
    })

  return {
    begin(session) {
      if (marked === session) return
      marked = session
      shared.write(own, `${session} ${now()}`)
    },
    end() {
      if (marked === null) return
      marked = null
      shared.remove(own)
    },
    crashed: session =>
      marks().some(mark => mark.session === session && (mark.key === prefix + earlier || now() - mark.at > patienceMs)),
    forgive(session) {
      for (const mark of marks()) if (mark.session === session) shared.remove(mark.key)
    },
  }
}

export const pageMarks = crashMarks({shared: local, tab: ofTab, page: randomId(), now: () => Date.now()})

/** A page that runs its own farewell has not crashed. */
export function endMarksWithPage(): void {
  addEventListener('pagehide', () => pageMarks.end())
}

function randomId(): string {
  return Math.random().toString(36).slice(2)
}
