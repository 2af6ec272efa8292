import {useEffect, useLayoutEffect, useRef} from 'react'
import type {SessionView, StepRef} from '../runtime-types.ts'
import {statusWords} from '../words/session.ts'
import {Boundary, Part} from './boundary.tsx'
import {type DivergenceActions, DivergenceCard} from './divergence-card.tsx'
import {Entry} from './entry.tsx'
import {Prose} from './prose.tsx'

type Props = {
  view: SessionView
  onBranch: (after: number) => void
  onLook: (step: StepRef) => void
  divergence: DivergenceActions
}

export function Conversation({view, onBranch, onLook, divergence}: Props) {
  const scroller = useStickToEnd(view)
  return (
    <section className="conversation" ref={scroller} aria-label="Conversation">
      {view.earlier && <p className="notice">Earlier entries are kept; this shows the latest.</p>}
      <ol className="entries">
        {view.entries.map(entry => (
          <Entry
            key={entry.id + ('call' in entry ? entry.call : '')}
            entry={entry}
            onBranch={onBranch}
            onLook={onLook}
          />
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
  return text
    .slice(0, 2_000)
    .replace(/[*_`#]+/g, '')
    .replace(/^- /gm, '')
}

/** Follows new text while the reader is at the end, and stays put while they read further up. */
function useStickToEnd(view: SessionView) {
  const scroller = useRef<HTMLElement>(null)
  const atEnd = useRef(true)
  useEffect(() => {
    const element = scroller.current
    const note = () => {
      if (element) atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 64
    }
    element?.addEventListener('scroll', note, {passive: true})
    return () => element?.removeEventListener('scroll', note)
  }, [])
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && atEnd.current && view) element.scrollTop = element.scrollHeight
  }, [view])
  return scroller
}
