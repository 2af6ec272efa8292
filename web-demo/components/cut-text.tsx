import {useState} from 'react'
import {useAction} from '../hooks.ts'
import type {Session, TranscriptEntry} from '../runtime-types.ts'
import {plainTextOf} from '../words/plain.ts'
import {PlainText} from './plain-text.tsx'
import {Problems} from './problems.tsx'

type Props = {entry: TranscriptEntry; session: Session | null}

/** Under a text of which only the beginning came with the view: reads and shows all of it. */
export function CutText({entry, session}: Props) {
  const {problems, run, dismiss} = useAction()
  const [whole, setWhole] = useState<string | null>(null)
  if (entry.cut === undefined) return null
  const read = () =>
    void run(async () => {
      const entries = (await session?.entry(entry.id)) ?? []
      const found = entries.find(one => plainTextOf(one).startsWith(plainTextOf(entry)))
      if (found) setWhole(plainTextOf(found))
    }, 'read the whole text')
  if (whole !== null) {
    return (
      <div className="cut-text">
        <p className="hint">All of it, as it was written:</p>
        <PlainText text={whole} />
      </div>
    )
  }
  return (
    <div className="cut-text">
      <p className="hint">This is the beginning of {entry.cut.toLocaleString('en-GB')} characters.</p>
      <Problems problems={problems} onDismiss={dismiss} />
      <button type="button" className="button" onClick={read}>
        Show all of it
      </button>
    </div>
  )
}
