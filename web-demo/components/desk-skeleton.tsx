import type {Opening} from '../runtime-types.ts'
import {openingWords} from '../words/opening.ts'
import {OpeningNote} from './opening-note.tsx'

/** The shape of the desk while the runtime opens, with what it is doing; the reason instead when it does not open. */
export function DeskSkeleton({opening}: {opening: Opening}) {
  const words = openingWords(opening, 0)
  if (words?.tone === 'bad' || opening.state === 'blocked') return <OpeningNote opening={opening} />
  return (
    <div className="skeleton" role="status">
      <span className="visually-hidden">Opening the desk</span>
      <p className="skeleton-bubble" />
      <p className="skeleton-lines" />
      {words && <p className="skeleton-step">{words.sentences.join(' ')}</p>}
    </div>
  )
}
