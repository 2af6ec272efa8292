import {Tabs} from '@base-ui/react/tabs'
import {useEffect, useMemo, useRef} from 'react'
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
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => document.subscribe(text => field.current && show(field.current, text)), [document])
  return (
    <textarea
      ref={field}
      className="draft-text"
      aria-label={documentWords[name].title}
      placeholder={documentWords[name].hint}
      defaultValue=""
      onInput={event => {
        const {value} = event.currentTarget
        void run(() => document.edit(value))
      }}
    />
  )
}

/**
 * The document tells every change at once, and so does the field show it: with the next render instead, a key pressed in
 * between would edit a text that is no longer there, and take away what somebody else has just written. The caret keeps
 * its place when others write before it. [WRK-2]
 */
function show(field: HTMLTextAreaElement, next: string): void {
  const {value, selectionStart, selectionEnd} = field
  if (value === next) return
  field.value = next
  if (field !== field.ownerDocument.activeElement) return
  field.setSelectionRange(shiftedCaret(value, next, selectionStart), shiftedCaret(value, next, selectionEnd))
}

export function shiftedCaret(before: string, after: string, caret: number): number {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  return same >= caret ? caret : Math.max(same, caret + after.length - before.length)
}
