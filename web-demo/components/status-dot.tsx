import type {Tone} from '../words/refund.ts'

/** Colour is never the only sign: the words stand beside it or are read out. */
export function StatusDot({tone, words, hidden = false}: {tone: Tone; words: string; hidden?: boolean}) {
  return (
    <span className={`status status-${tone}`}>
      <span className="status-dot" aria-hidden="true" />
      <span className={hidden ? 'visually-hidden' : undefined}>{words}</span>
    </span>
  )
}
