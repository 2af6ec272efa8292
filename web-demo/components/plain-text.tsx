import {useState} from 'react'
import {wholeCharacters} from '../words/whole-characters.ts'

/** Characters that are laid out at once: a browser takes seconds for a line of a megabyte. */
const portion = 16_000

/** Text exactly as it was written, in portions. */
export function PlainText({text}: {text: string}) {
  const [shown, setShown] = useState(portion)
  return (
    <>
      <p className="plain-text">{wholeCharacters(text, shown)}</p>
      {text.length > shown && (
        <button type="button" className="button" onClick={() => setShown(shown + portion)}>
          Show more ({(text.length - shown).toLocaleString('en-GB')} characters)
        </button>
      )}
    </>
  )
}
