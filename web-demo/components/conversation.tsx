import {useMemo} from 'react'
import type {Run} from '../hooks.ts'
import {useHistory} from '../pages/use-history.ts'
import type {Session, SessionView, StepRef, TranscriptEntry} from '../runtime-types.ts'
import {statusWords} from '../words/session.ts'
import {wholeCharacters} from '../words/whole-characters.ts'
import {Boundary, Part} from './boundary.tsx'
import {type DivergenceActions, DivergenceCard} from './divergence-card.tsx'
import {Entry} from './entry.tsx'
import {Prose} from './prose.tsx'
import {useScrollPlace} from './use-scroll-place.ts'

type Props = {
  session: Session | null
  view: SessionView
  run: Run
  onBranch: (after: number) => void
  onLook: (step: StepRef) => void
  divergence: DivergenceActions
}

/** Shows the latest entries; what lies above is read from the log when the person asks for it. */
export function Conversation({session, view, run, onBranch, onLook, divergence}: Props) {
  const history = useHistory(session, view, run)
  const entries = useMemo(() => keyed([...history.above, ...view.entries]), [history.above, view.entries])
  const scroller = useScrollPlace(view, history.above)
  return (
    <section className="conversation" ref={scroller} aria-label="Conversation">
      {history.earlier && (
        <p className="notice show-earlier">
          <button type="button" className="button" disabled={history.loading} onClick={history.showEarlier}>
            {history.loading ? 'Reading earlier entries' : 'Show earlier'}
          </button>
        </p>
      )}
      <ol className="entries">
        {entries.map(({key, entry}) => (
          <Entry key={key} entry={entry} session={session} onBranch={onBranch} onLook={onLook} />
        ))}
        {view.streaming && (
          <li className="entry entry-reply entry-streaming">
            <Prose text={view.streaming.text} />
          </li>
        )}
      </ol>
      {view.divergence && (
        <Part name="The work done apart" shows={view.divergence}>
          <DivergenceCard divergence={view.divergence} actions={divergence} />
        </Part>
      )}
      <Boundary shows={view} fallback={null}>
        <Announcer view={view} />
      </Boundary>
    </section>
  )
}

/** One event may bring several entries, so its id alone is no key. */
function keyed(entries: readonly TranscriptEntry[]): {key: string; entry: TranscriptEntry}[] {
  const seen = new Map<string, number>()
  return entries.map(entry => {
    const nth = seen.get(entry.id) ?? 0
    seen.set(entry.id, nth + 1)
    return {key: `${entry.id} ${nth}`, entry}
  })
}

/** Reads out a finished reply and what the run waits for, once each; never token by token. */
function Announcer({view}: {view: SessionView}) {
  const last = view.entries.at(-1)
  const reply = !view.streaming && last?.type === 'reply' ? spoken(last.text) : ''
  return (
    <p className="visually-hidden" aria-live="polite">
      {reply || view.waitingFor || statusWords(view.status).words}
    </p>
  )
}

/** Without the marks of formatting, which a screen reader would spell out; nobody listens to a reply of pages. */
function spoken(text: string): string {
  return wholeCharacters(text, 2_000)
    .replace(/[*_`#]+/g, '')
    .replace(/^- /gm, '')
}
