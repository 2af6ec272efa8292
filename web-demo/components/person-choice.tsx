import {navigate} from '../hooks.ts'
import {inboxPeople, type Person, people} from '../people.ts'

/** A demo lets one person sit in every chair; a real application knows who is logged in. */
export function PersonChoice({person}: {person: Person}) {
  return (
    <p className="person-choice">
      <label htmlFor="look-as">View as</label>
      <select
        id="look-as"
        className="policy-select"
        value={person}
        onChange={event => navigate(`/inbox?as=${event.target.value}`, {replace: true})}
      >
        {inboxPeople.map(each => (
          <option key={each} value={each}>
            {people[each].name}, {people[each].job}
          </option>
        ))}
      </select>
    </p>
  )
}
