import type {Ended} from '../words/closing.ts'

type Props = {
  ended: Ended
  /** Text that was typed here and can no longer be sent from here. */
  unsent: boolean
  onNew: () => void
}

/** Stands where one would write: nothing can be said here any more, and here is where it can. */
export function EndedNote({ended, unsent, onNew}: Props) {
  return (
    <div className="ended" role="status">
      <div>
        <p className="ended-title">{ended.title}</p>
        <p className="hint">{ended.detail}</p>
      </div>
      <button type="button" className="button" onClick={onNew}>
        {unsent ? 'Go on in a new one, with what you typed' : 'Go on in a new one'}
      </button>
    </div>
  )
}
