import {Tabs} from '@base-ui/react/tabs'
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'react'
import type {Run} from '../hooks.ts'
import type {Session, SharedDocument} from '../runtime-types.ts'
import {type DocumentName, documentWords, draftDocument, planDocument} from '../words/draft.ts'

const names = [draftDocument, planDocument] as const

/** What the agent and the person write at once: the reply to the customer, and the plan for the case. */
export function SharedEditors({session, run}: {session: Session | null; run: Run}) {
  return (
    <Tabs.Root className="tabs" defaultValue={draftDocument}>
      <Tabs.List className="tab-list" aria-label="Written together">
        {names.map(name => (
          <Tabs.Tab key={name} className="tab" value={name}>
            {documentWords[name].tab}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {names.map(name => (
        <Tabs.Panel key={name} className="tab-panel draft" value={name}>
          <DocumentEditor session={session} name={name} run={run} />
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  )
}

function DocumentEditor({session, name, run}: {session: Session | null; name: DocumentName; run: Run}) {
  const document = useMemo(() => session?.document(name) ?? null, [session, name])
  const {title, empty} = documentWords[name]
  return (
    <>
      <h2>{title}</h2>
      {document ? (
        <Editor key={session?.id} document={document} name={name} run={run} />
      ) : (
        <p className="draft-empty">{empty}</p>
      )}
    </>
  )
}

function Editor({document, name, run}: {document: SharedDocument; name: DocumentName; run: Run}) {
  const {text, field, onEdit} = useSharedText(document, run)
  return (
    <textarea
      ref={field}
      className="draft-text"
      aria-label={documentWords[name].title}
      placeholder={documentWords[name].hint}
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
