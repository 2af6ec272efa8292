import {isPerson, type Person, people} from '../people.ts'

const all = Object.keys(people).filter(isPerson)

/** Stands where the conversation would be after a sign-out: nothing can be written until somebody signs in. */
export function SignedOutNote({onSignIn}: {onSignIn: (person: Person) => void}) {
  return (
    <section className="empty" role="status">
      <h2>You are signed out</h2>
      <p>What was kept in this browser is not shown. Sign in to go on.</p>
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
