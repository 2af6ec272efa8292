import {useCallback, useEffect, useState} from 'react'
import type {Run} from '../hooks.ts'
import {inboxPeople, type Person, people, personName} from '../people.ts'
import type {Delegation, Inbox} from '../runtime-types.ts'
import {approverRole} from '../tools.ts'
import {clock} from '../words/approval.ts'

const hours = [
  {hours: 1, words: 'one hour'},
  {hours: 8, words: 'eight hours'},
  {hours: 72, words: 'three days'},
]

type Props = {
  person: Person
  inbox: Inbox
  run: Run
}

/** Lends the role of approver to a colleague for a while, and takes it back. */
export function DelegationPanel({person, inbox, run}: Props) {
  const {delegations, read} = useDelegations(inbox)
  const others = inboxPeople.filter(each => each !== person)
  const [to, setTo] = useState<Person>(others[0] ?? 'ines')
  const [forHours, setForHours] = useState(8)
  const mayLend = (people[person].roles as readonly string[]).includes(approverRole)
  const change = (action: () => Promise<unknown>) => run(action).then(read)
  const lend = () => {
    const until = Date.now() + forHours * 3_600_000
    return change(() => inbox.delegate({role: approverRole, to: to as Delegation['to'], until}))
  }
  return (
    <details className="lending">
      <summary>Lend your role while you are away</summary>
      {mayLend ? (
        <div className="lending-form">
          <label htmlFor="lend-to">To</label>
          <select
            id="lend-to"
            className="policy-select"
            value={to}
            onChange={event => setTo(event.target.value as Person)}
          >
            {others.map(each => (
              <option key={each} value={each}>
                {people[each].name}
              </option>
            ))}
          </select>
          <label htmlFor="lend-for">For</label>
          <select
            id="lend-for"
            className="policy-select"
            value={forHours}
            onChange={event => setForHours(Number(event.target.value))}
          >
            {hours.map(each => (
              <option key={each.hours} value={each.hours}>
                {each.words}
              </option>
            ))}
          </select>
          <button type="button" className="button" onClick={() => void lend()}>
            Lend
          </button>
        </div>
      ) : (
        <p className="hint">You hold no role that could be lent. What was lent to you cannot be lent on.</p>
      )}
      <ul className="lending-list">
        {delegations.map(each => (
          <li key={each.delegation}>
            <span>
              {personName(each.from)} to {personName(each.to)}, {lentWords(each)}
            </span>
            {inForce(each) && (
              <button
                type="button"
                className="button"
                onClick={() => void change(() => inbox.revokeDelegation(each.delegation))}
              >
                {each.from === person ? 'Take back' : 'Give back'}
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}

function useDelegations(inbox: Inbox) {
  const [delegations, setDelegations] = useState<Delegation[]>([])
  // Out of reach of the server there is nothing to show; the page says so above.
  const read = useCallback(() => inbox.delegations().then(setDelegations, () => undefined), [inbox])
  // A role that is lent or taken back changes the inbox, which is when to look again.
  useEffect(() => inbox.subscribe(() => void read()), [inbox, read])
  return {delegations, read}
}

function inForce({until, revokedAt}: Delegation): boolean {
  return revokedAt === null && until > Date.now()
}

function lentWords(delegation: Delegation): string {
  if (delegation.revokedAt !== null) return `taken back at ${clock(delegation.revokedAt)}`
  return inForce(delegation)
    ? `until ${new Date(delegation.until).toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'})}`
    : 'over'
}
