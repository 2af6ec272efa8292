import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'react'
import type {Run} from '../hooks.ts'
import type {Session, SharedDocument} from '../runtime-types.ts'
import {draftDocument} from '../words/draft.ts'

/** The reply to the customer, written by the agent and the person at once. */
export function DraftEditor({session, run}: {session: Session | null; run: Run}) {
  const document = useMemo(() => session?.document(draftDocument) ?? null, [session])
  return (
    <section className="draft" aria-labelledby="draft-title">
      <h2 id="draft-title">Reply to the customer</h2>
      {document ? (
        <Editor key={session?.id} document={document} run={run} />
      ) : (
        <p className="draft-empty">The reply appears here. You and the agent can both edit it.</p>
      )}
    </section>
  )
}

function Editor({document, run}: {document: SharedDocument; run: Run}) {
  const {text, field, onEdit} = useSharedText(document, run)
  return (
    <textarea
      ref={field}
      className="draft-text"
      aria-label="Reply to the customer"
      placeholder="Nothing written yet. Start typing, or let the agent do it."
      value={text}
      onChange={event => onEdit(event.target.value)}
    />
  )
}

/**
 * The document tells every change at once, the person's own included, so the field never shows anything but the
 * merged text. The caret keeps its place when others write before it.
 */
function useSharedText(document: SharedDocument, run: Run) {
  const [text, setText] = useState('')
  const field = useRef<HTMLTextAreaElement>(null)
  const shown = useRef('')
  const caret = useRef<number | null>(null)
  const typing = useRef(false)
  useEffect(
    () =>
      document.subscribe(next => {
        const at = field.current?.selectionStart ?? 0
        if (!typing.current && shown.current !== next) caret.current = shiftedCaret(shown.current, next, at)
        shown.current = next
        setText(next)
      }),
    [document],
  )
  useLayoutEffect(() => {
    if (caret.current !== null && field.current === globalThis.document.activeElement) {
      field.current?.setSelectionRange(caret.current, caret.current)
    }
    caret.current = null
  })
  const onEdit = (next: string) => {
    typing.current = true
    void run(() => document.edit(next))
    typing.current = false
  }
  return {text, field, onEdit}
}

export function shiftedCaret(before: string, after: string, caret: number): number {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  return same >= caret ? caret : Math.max(same, caret + after.length - before.length)
}
