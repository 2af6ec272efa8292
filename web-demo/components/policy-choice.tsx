import type {BusyPolicy} from '../runtime-types.ts'

const choices: {value: BusyPolicy; label: string; means: string}[] = [
  {value: 'steer', label: 'Correct it', means: 'The agent reads it next; a refund that has not started is withdrawn.'},
  {value: 'interrupt', label: 'Interrupt', means: 'As a correction, and what the agent is doing now is stopped.'},
  {value: 'queue', label: 'Do it after', means: 'The agent finishes first and reads it then.'},
  {value: 'fork', label: 'In a branch', means: 'It goes to a branch of this conversation; this run goes on.'},
  {value: 'reject', label: 'Only if idle', means: 'It is not sent while the agent is at work.'},
]

/** What a message does to the run that is under way; shown only while one is. */
export function PolicyChoice({value, onChange}: {value: BusyPolicy; onChange: (value: BusyPolicy) => void}) {
  const chosen = choices.find(choice => choice.value === value)
  return (
    <div className="policy">
      <label className="visually-hidden" htmlFor="composer-policy">
        What your message does to the run under way
      </label>
      <select
        id="composer-policy"
        className="policy-select"
        value={value}
        onChange={event => onChange(event.target.value as BusyPolicy)}
        aria-describedby="composer-policy-means"
      >
        {choices.map(choice => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      <p id="composer-policy-means" className="policy-means">
        {chosen?.means}
      </p>
    </div>
  )
}
