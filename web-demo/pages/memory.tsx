import {useState, useSyncExternalStore} from 'react'
import {limits} from '../../runtime/index.ts'
import {Banner} from '../components/banner.tsx'
import {Boundary} from '../components/boundary.tsx'
import {type MemoryActions, MemoryCard} from '../components/memory-card.tsx'
import {Notices} from '../components/notices.tsx'
import {OpeningNote} from '../components/opening-note.tsx'
import {isOver, OverLimit} from '../components/over-limit.tsx'
import {PlainText} from '../components/plain-text.tsx'
import {Problems} from '../components/problems.tsx'
import {SignedOutNote} from '../components/signed-out-note.tsx'
import {StatusDot} from '../components/status-dot.tsx'
import {useAction, useNow} from '../hooks.ts'
import type {MemoryEntry} from '../runtime-types.ts'
import {become, signIn} from '../sign-in.ts'
import {sorted} from '../words/memory.ts'
import {connectionWords} from '../words/session.ts'
import {useDevice, useRuntime} from './use-desk.ts'
import {type Forgotten, useForget, useMemory, useRecall} from './use-memory.ts'

export function MemoryPage() {
  const {problems, run, dismiss} = useAction()
  const runtime = useRuntime(run)
  const {connection, opening, person} = useDevice(runtime)
  const signedOut = useSyncExternalStore(signIn.subscribe, signIn.get) === null && person === null
  const view = useMemory(runtime)
  const now = useNow(30_000)
  const [query, setQuery] = useState('')
  const found = useRecall(runtime, view, isOver(query, limits.memoryCharacters) ? '' : query, run)
  const {forgotten, forget} = useForget(runtime, run)
  const actions: MemoryActions = {
    accept: item => run(async () => runtime?.memory.accept(item.id)),
    correct: (item, text) => run(async () => runtime?.memory.correct(item, text)),
    forget,
  }
  const parts = sorted(view?.entries ?? [], now)
  const recalled = new Set(found?.map(({item}) => item.id))
  const list = {now, actions}
  if (signedOut) {
    return (
      <main className="page">
        <h1>Memory</h1>
        <Problems problems={problems} onDismiss={dismiss} />
        <SignedOutNote onSignIn={next => void run(() => become(next, runtime))} />
      </main>
    )
  }
  return (
    <main className="page">
      <div className="page-head">
        <h1>Memory</h1>
        <StatusDot {...connectionWords(connection)} />
      </div>
      <Notices runtime={runtime} />
      <Problems problems={problems} onDismiss={dismiss} />
      {opening.state !== 'open' && <OpeningNote opening={opening} />}
      {view !== null && isAway(connection.state) && <Away queued={view.queued} />}
      <Undo forgotten={forgotten} />
      {view === null && <p className="skeleton-lines" aria-hidden="true" />}
      {view?.entries.length === 0 && <NothingYet />}
      {view !== null && view.entries.length > 0 && <Search query={query} onQuery={setQuery} />}
      {query.trim() !== '' && found ? (
        <Section
          title={found.length === 0 ? 'Nothing that is true now answers this' : 'What answers this'}
          entries={parts.remembered.filter(({item}) => recalled.has(item.id))}
          {...list}
        />
      ) : (
        <>
          <Section title="Waits for your word" entries={parts.waiting} {...list} />
          <Section title="Remembered" entries={parts.remembered} {...list} />
          {parts.over.length > 0 && (
            <details className="memory-over">
              <summary>No longer true ({parts.over.length})</summary>
              <Section title="No longer true" titled={false} entries={parts.over} {...list} />
            </details>
          )}
        </>
      )}
    </main>
  )
}

function isAway(state: string): boolean {
  return state === 'cut' || state === 'unreachable' || state === 'unauthenticated'
}

function Away({queued}: {queued: number}) {
  return (
    <Banner tone="waiting">
      The server cannot be reached, so this is the copy on this device. What you change counts here at once
      {queued > 0 ? ` (${queued} not sent yet)` : ''} and is sent when the server is back.
    </Banner>
  )
}

/** Stays in the page while empty: a live region that appears together with its text is not read out. */
function Undo({forgotten}: {forgotten: Forgotten | null}) {
  return (
    <div className="memory-undo" role="status">
      {forgotten && (
        <>
          <span>Forgotten: “{forgotten.text}”</span>
          <button type="button" className="button" onClick={forgotten.undo}>
            Undo
          </button>
        </>
      )}
    </div>
  )
}

function NothingYet() {
  return (
    <div className="page-empty">
      <h2>Nothing is remembered yet</h2>
      <p>
        Tell the desk something that should last, like “I prefer short replies.” or “Remember that I work until four.”
        When the answer is done, it shows up here, with the conversation it comes from. Nothing is used before you or
        the shop’s policy accepts it.
      </p>
    </div>
  )
}

function Search({query, onQuery}: {query: string; onQuery: (query: string) => void}) {
  return (
    <div className="memory-search">
      <label htmlFor="memory-query">Ask your memory</label>
      <input
        id="memory-query"
        className="field"
        type="search"
        autoComplete="off"
        aria-describedby="memory-query-over"
        value={query}
        onChange={event => onQuery(event.target.value)}
      />
      <OverLimit id="memory-query-over" text={query} limit={limits.memoryCharacters} />
    </div>
  )
}

type SectionProps = {
  title: string
  /** Whether the title is seen; it may stand above already. */
  titled?: boolean
  entries: MemoryEntry[]
  now: number
  actions: MemoryActions
}

function Section({title, titled = true, entries, now, actions}: SectionProps) {
  if (entries.length === 0 && !title.startsWith('Nothing')) return null
  return (
    <section className="memories" aria-label={title}>
      <h2 className={titled ? undefined : 'visually-hidden'}>{title}</h2>
      <ul>
        {entries.map(entry => (
          <li key={entry.item.id}>
            <Boundary shows={entry} fallback={<PlainText text={String(entry.item.text)} />}>
              <MemoryCard entry={entry} now={now} actions={actions} />
            </Boundary>
          </li>
        ))}
      </ul>
    </section>
  )
}
