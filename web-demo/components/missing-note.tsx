import {addressOf} from '../address.ts'
import type {Missing} from '../words/missing.ts'
import {follow} from './header.tsx'

/** Stands in place of a conversation that cannot be shown, with a way on. */
export function MissingNote({title, detail}: Missing) {
  return (
    <section className="empty" role="status">
      <h2>{title}</h2>
      <p>{detail}</p>
      <div className="crashed-ways">
        <a className="button button-primary" href={addressOf(null)} onClick={event => follow(event, addressOf(null))}>
          New conversation
        </a>
      </div>
    </section>
  )
}
