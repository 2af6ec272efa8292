import {addressOf} from '../address.ts'
import {Boundary} from '../components/boundary.tsx'
import {follow} from '../components/header.tsx'
import {MissingNote} from '../components/missing-note.tsx'
import {PlainText} from '../components/plain-text.tsx'
import {Problems} from '../components/problems.tsx'
import {useAction} from '../hooks.ts'
import {authorOf, plainTextOf} from '../words/plain.ts'
import {useDevice, useRuntime, useSession} from './use-desk.ts'

/** A conversation with nothing parsed and no cards: for one that a page could not show. */
export function PlainPage({sessionId}: {sessionId: string}) {
  const {problems, run, dismiss} = useAction()
  const runtime = useRuntime(run)
  const device = useDevice(runtime)
  const {view, missing} = useSession(runtime, sessionId, device)
  return (
    <main className="page">
      <div className="page-head">
        <h1>Conversation as plain text</h1>
        <a href={addressOf(sessionId)} onClick={event => follow(event, addressOf(sessionId))}>
          Show it as usual
        </a>
      </div>
      <Problems problems={problems} onDismiss={dismiss} />
      {missing && <MissingNote {...missing} />}
      {!view && problems.length === 0 && !missing && <p className="skeleton-lines" aria-hidden="true" />}
      {view?.earlier && <p className="hint">Earlier entries are kept; this shows the latest.</p>}
      <ol className="plain-entries">
        {view?.entries.map(entry => (
          <li key={entry.id + ('call' in entry ? entry.call : '')}>
            <p className="hint">{authorOf(entry)}</p>
            <Boundary shows={entry} fallback={<p>This entry cannot be shown.</p>}>
              <PlainText text={plainTextOf(entry)} />
            </Boundary>
          </li>
        ))}
      </ol>
    </main>
  )
}
