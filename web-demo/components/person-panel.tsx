import {useId, useState} from 'react'
import {addressOf} from '../address.ts'
import {navigate, type Run} from '../hooks.ts'
import {isPerson, people, personName} from '../people.ts'
import type {BrowserRuntime, PersonState} from '../runtime-types.ts'
import {become, signIn} from '../sign-in.ts'
import {unsentWords} from '../words/person.ts'
import {WipeDialog} from './wipe-dialog.tsx'

const all = Object.keys(people).filter(isPerson)

type Props = {runtime: BrowserRuntime | null; person: PersonState | null; run: Run}

/** The person who is signed in at this browser, and controls to switch, to sign out and to delete their data. */
export function PersonPanel({runtime, person, run}: Props) {
  const choice = useId()
  const [wiping, setWiping] = useState(false)
  const current = person && isPerson(person.subject) ? person.subject : ''
  const signOut = () =>
    run(async () => {
      signIn.set(null)
      navigate(addressOf(null), {replace: true})
      await runtime?.signOut()
    })
  return (
    <section className="person-panel" aria-label="Person">
      <p className="device-state" role="status">
        {person ? `${personName(person.subject)} is signed in. ${unsentWords(person.unsent)}` : 'Nobody is signed in.'}
      </p>
      <div className="device-row">
        <label className="switch-label" htmlFor={choice}>
          {person ? 'Switch to' : 'Sign in as'}
        </label>
        <select
          id={choice}
          className="policy-select"
          value={current}
          disabled={!runtime}
          onChange={event => {
            const next = event.target.value
            if (isPerson(next)) void run(() => become(next, runtime))
          }}
        >
          {current === '' && <option value="">Choose a person</option>}
          {all.map(each => (
            <option key={each} value={each}>
              {people[each].name}, {people[each].job}
            </option>
          ))}
        </select>
      </div>
      <div className="device-buttons">
        <button type="button" className="button" disabled={!runtime || !person} onClick={() => void signOut()}>
          Sign out
        </button>
        <button type="button" className="button" disabled={!runtime || !person} onClick={() => setWiping(true)}>
          Delete from this browser
        </button>
      </div>
      {runtime && person && <WipeDialog runtime={runtime} person={person} open={wiping} onOpenChange={setWiping} />}
    </section>
  )
}
