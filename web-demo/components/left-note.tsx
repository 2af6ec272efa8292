import {type Person, people} from '../people.ts'

/** In place of the approvals of a person who signed out. */
export function LeftNote({person, onSignIn}: {person: Person; onSignIn: () => void}) {
  const {name} = people[person]
  return (
    <section className="page-empty" role="status">
      <h2>{name} is signed out</h2>
      <p className="left-note">
        No tab of this browser shows the approvals of {name}. Decisions that were kept on this device are sent after{' '}
        {name} signs in again.
      </p>
      <button type="button" className="button" onClick={onSignIn}>
        Sign in as {name}
      </button>
    </section>
  )
}
