import {useEffect, useRef, useState} from 'react'
import {limits} from '../../runtime/index.ts'
import {addressOf} from '../address.ts'
import type {MemoryEntry, MemoryRecord} from '../runtime-types.ts'
import {exactText} from '../words/exact.ts'
import {kindWords, memoryStatus, originWords} from '../words/memory.ts'
import {Banner} from './banner.tsx'
import {follow} from './header.tsx'
import {isOver, OverLimit} from './over-limit.tsx'
import {StatusDot} from './status-dot.tsx'

export type MemoryActions = {
  accept: (item: MemoryRecord) => Promise<boolean>
  correct: (item: MemoryRecord, text: string) => Promise<boolean>
  forget: (item: MemoryRecord) => Promise<boolean>
}

/** One thing that is remembered, or waits to be: its words, where they come from, and what can be done about it. */
export function MemoryCard({entry, now, actions}: {entry: MemoryEntry; now: number; actions: MemoryActions}) {
  const {item, kept, refused} = entry
  const [editing, setEditing] = useState(false)
  const {correct, goBack} = useReturnedFocus(editing)
  const mayCorrect = item.status === 'accepted' || item.status === 'corrected'
  return (
    <article className="memory" aria-label={item.text}>
      <header className="memory-head">
        <span className="memory-kind">{kindWords(item)}</span>
        <StatusDot {...memoryStatus(item, now)} />
      </header>
      {editing ? (
        <Correction
          item={item}
          onSave={async text => {
            if (await actions.correct(item, text)) goBack(() => setEditing(false))
          }}
          onCancel={() => goBack(() => setEditing(false))}
        />
      ) : (
        <p className="memory-text">{exactText(item.text)}</p>
      )}
      {!editing && <Origin item={item} />}
      {kept === 'device' && <p className="hint">On this device; the server has not heard of it yet.</p>}
      {refused && <Banner tone="waiting">Your change was not taken: {refused}</Banner>}
      {!editing && (
        <div className="memory-buttons">
          {item.status === 'proposed' && (
            <button type="button" className="button button-primary" onClick={() => void actions.accept(item)}>
              Remember this
            </button>
          )}
          {mayCorrect && (
            <button type="button" className="button" ref={correct} onClick={() => setEditing(true)}>
              Correct
            </button>
          )}
          <button type="button" className="button" onClick={() => void actions.forget(item)}>
            {item.status === 'proposed' ? 'Do not remember' : 'Forget'}
          </button>
        </div>
      )}
    </article>
  )
}

/** Whoever corrects by keyboard comes back to where they were, and not to the top of the page. */
function useReturnedFocus(editing: boolean) {
  const correct = useRef<HTMLButtonElement>(null)
  const returning = useRef(false)
  useEffect(() => {
    if (editing || !returning.current) return
    returning.current = false
    correct.current?.focus()
  }, [editing])
  const goBack = (leave: () => void) => {
    returning.current = true
    leave()
  }
  return {correct, goBack}
}

function Origin({item}: {item: MemoryRecord}) {
  return (
    <p className="memory-origin">
      {originWords(item)}, from{' '}
      {item.sources.map(({session}, i) => (
        <span key={session}>
          {i > 0 && ' and '}
          <a href={addressOf(session)} onClick={event => follow(event, addressOf(session))}>
            {i === 0 ? 'this conversation' : 'this other one'}
          </a>
        </span>
      ))}
    </p>
  )
}

type CorrectionProps = {item: MemoryRecord; onSave: (text: string) => Promise<void>; onCancel: () => void}

function Correction({item, onSave, onCancel}: CorrectionProps) {
  const [text, setText] = useState(item.text)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])
  const id = `correct-${item.id}`
  return (
    <form
      className="memory-form"
      onSubmit={event => {
        event.preventDefault()
        void onSave(text.trim())
      }}
    >
      <label htmlFor={id}>What is right instead?</label>
      <textarea
        id={id}
        ref={field}
        rows={2}
        autoComplete="off"
        aria-describedby={`${id}-over`}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <OverLimit id={`${id}-over`} text={text} limit={limits.memoryCharacters} />
      <div className="memory-buttons">
        <button
          type="submit"
          className="button button-primary"
          disabled={text.trim() === '' || isOver(text, limits.memoryCharacters)}
        >
          Save
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}
