import {isPerson, type Person, people} from '../people.ts'

const all = Object.keys(people).filter(isPerson)

/** Shown in place of the conversation after a sign-out. Nothing can be written until a person signs in. */
export function SignedOutNote({onSignIn}: {onSignIn: (person: Person) => void}) {
  return (
    <section className="empty" role="status">
      <h2>You are signed out</h2>
      <p>Nothing of yours is shown in this browser until you sign in again.</p>
      <div className="crashed-ways">
        {all.map(each => (
          <button key={each} type="button" className="button" onClick={() => onSignIn(each)}>
            {people[each].name}, {people[each].job}
          </button>
        ))}
      </div>
    </section>
  )
}
