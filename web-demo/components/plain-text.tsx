import {useState} from 'react'

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

/** Never half of a surrogate pair. */
function wholeCharacters(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most)
}
