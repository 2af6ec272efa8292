import {addressOf, plainAddressOf} from '../address.ts'
import {follow} from './header.tsx'

type Props = {session: string; onRetry: () => void}

/** Stands in place of a conversation that an earlier page did not survive. */
export function CrashedNote({session, onRetry}: Props) {
  return (
    <section className="empty" aria-labelledby="crashed-title">
      <h2 id="crashed-title">This conversation stopped the page last time</h2>
      <p>Nothing of it is lost. It was not opened again, so that you can use the rest of the desk.</p>
      <div className="crashed-ways">
        <a
          className="button button-primary"
          href={plainAddressOf(session)}
          onClick={event => follow(event, plainAddressOf(session))}
        >
          Open as plain text
        </a>
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
        <a className="button" href={addressOf(null)} onClick={event => follow(event, addressOf(null))}>
          New conversation
        </a>
      </div>
    </section>
  )
}
