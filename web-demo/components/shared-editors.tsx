import {Tabs} from '@base-ui/react/tabs'
import {useEffect, useMemo, useRef, useState} from 'react'
import {HoldfastError, limits} from '../../runtime/index.ts'
import type {Run} from '../hooks.ts'
import type {Session, SharedDocument} from '../runtime-types.ts'
import {documentKey, useDrafts} from '../unsent.ts'
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
      {session && document ? (
        <Editor key={session.id} document={document} name={name} keptUnder={documentKey(session.id, name)} run={run} />
      ) : (
        <p className="draft-empty">{empty}</p>
      )}
    </>
  )
}

type EditorProps = {
  document: SharedDocument
  name: DocumentName
  /** What a text is kept under that the document did not take. */
  keptUnder: string
  run: Run
}

function Editor({document, name, keptUnder, run}: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const {keep, kept} = useDrafts()
  const {fault, write} = useWrite(document, keptUnder)
  const [left, setLeft] = useState(() => kept(keptUnder))
  useEffect(() => document.subscribe(text => field.current && show(field.current, text)), [document])
  const noteId = `document-${name}-note`
  return (
    <>
      <textarea
        ref={field}
        className="draft-text"
        aria-label={documentWords[name].title}
        aria-describedby={noteId}
        aria-invalid={fault !== null}
        autoComplete="off"
        placeholder={documentWords[name].hint}
        defaultValue=""
        onInput={event => write(event.currentTarget.value)}
        onBlur={() => void document.flush().catch(() => undefined)}
      />
      <p id={noteId} className="over-limit" role="status">
        {fault}
      </p>
      {left !== '' && fault === null && (
        <LeftText
          text={left}
          run={run}
          onDiscard={() => {
            keep(keptUnder, '')
            setLeft('')
          }}
        />
      )}
    </>
  )
}

/** Gives every change to the document; a text that it does not take stays in the field and is kept. */
function useWrite(document: SharedDocument, keptUnder: string) {
  const {keep} = useDrafts()
  const [fault, setFault] = useState<string | null>(null)
  const last = useRef('')
  const write = (text: string) => {
    last.current = text
    const told = (problem: string | null) => {
      // What became of an earlier text says nothing about this one.
      if (last.current !== text) return
      if (problem !== null) keep(keptUnder, text)
      else if (fault !== null) keep(keptUnder, '')
      setFault(problem)
    }
    document.edit(text).then(
      () => told(null),
      (error: unknown) => told(notStored(text, error)),
    )
  }
  return {fault, write}
}

function notStored(text: string, error: unknown): string {
  const number = (n: number) => n.toLocaleString('en-GB')
  if (HoldfastError.is(error, 'too_large')) {
    const [has, most] = [number(text.length), number(limits.documentCharacters)]
    return `This text has ${has} characters; a document holds at most ${most}. It is not saved. Shorten it first; it stays here.`
  }
  return `Your last change is not saved yet: ${error instanceof Error ? error.message : String(error)}`
}

/** A text that was too long when this document was open last. */
function LeftText({text, run, onDiscard}: {text: string; run: Run; onDiscard: () => void}) {
  return (
    <div className="part-failed">
      <p>A text of {text.length.toLocaleString('en-GB')} characters was not saved here. It is kept on this device.</p>
      <div className="decision-buttons">
        <button type="button" className="button" onClick={() => void run(() => navigator.clipboard.writeText(text))}>
          Copy it
        </button>
        <button type="button" className="button" onClick={onDiscard}>
          Discard it
        </button>
      </div>
    </div>
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
