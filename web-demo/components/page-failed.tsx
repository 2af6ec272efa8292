import {addressOf, plainAddressOf} from '../address.ts'
import {follow} from './header.tsx'

type Props = {error: Error; session: string | null; onRetry: () => void}

/** What is left of a page that could not be rendered: what happened, and the ways on. */
export function PageFailed({error, session, onRetry}: Props) {
  return (
    <main className="page">
      <div className="page-empty" role="alert">
        <h1>This page could not be shown</h1>
        <p>What you wrote is kept on this device.</p>
        <div className="crashed-ways">
          <button type="button" className="button button-primary" onClick={onRetry}>
            Try again
          </button>
          {session !== null && (
            <a
              className="button"
              href={plainAddressOf(session)}
              onClick={event => follow(event, plainAddressOf(session))}
            >
              Open as plain text
            </a>
          )}
          <a className="button" href={addressOf(null)} onClick={event => follow(event, addressOf(null))}>
            New conversation
          </a>
        </div>
        <details className="refund-more">
          <summary>Details</summary>
          <p className="plain-text">{error.message}</p>
        </details>
      </div>
    </main>
  )
}
