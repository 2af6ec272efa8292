import {type KeyboardEvent, useCallback, useRef, useState} from 'react'
import {limits} from '../../runtime/index.ts'
import {sendsOn} from '../enter.ts'
import {useArrived} from '../pages/use-arrived.ts'
import type {BusyPolicy, SessionView} from '../runtime-types.ts'
import {useDrafts} from '../unsent.ts'
import {Icon} from './icon.tsx'
import {isOver, OverLimit} from './over-limit.tsx'
import {PolicyChoice} from './policy-choice.tsx'

type Props = {
  /** What the unsent text is kept under; another key has another text. */
  keptUnder: string
  /** The conversation that is shown; null for a new one. */
  view: SessionView | null
  underWay: boolean
  /** What a text that was sent waits for: the conversation to open, or the server. Null when none waits. */
  waiting: 'opening' | 'server' | null
  onSend: (text: string, policy: BusyPolicy) => Promise<boolean>
  onTakeBack: () => void
  onStop: () => void
}

const waitingWords = {
  opening: 'This is sent as soon as the conversation is open.',
  server: 'The server cannot be reached. This is sent as soon as it answers.',
}

/** Unsent text survives a reload, and is cleared only after the message is durable. */
export function Composer({keptUnder, view, underWay, waiting, onSend, onTakeBack, onStop}: Props) {
  const {text, isKept, setText, clearIfStill} = useKeptText(keptUnder)
  const sending = useRef(new Set<string>())
  const [busy, setBusy] = useState(false)
  useArrived(view, busy, clearIfStill)
  const [policy, setPolicy] = useState<BusyPolicy>('steer')
  const field = useRef<HTMLTextAreaElement>(null)
  const send = async () => {
    if (sending.current.has(keptUnder) || text.trim() === '' || isOver(text, limits.messageCharacters)) return
    // A text that waits for its conversation keeps no other conversation from being written to.
    sending.current.add(keptUnder)
    setBusy(true)
    if (await onSend(text.trim(), policy)) clearIfStill(keptUnder, text.trim())
    sending.current.delete(keptUnder)
    setBusy(sending.current.size > 0)
    field.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!sendsOn(event.nativeEvent)) return
    event.preventDefault()
    void send()
  }
  return (
    <>
      {underWay && <PolicyChoice value={policy} onChange={setPolicy} />}
      <div className="composer-notes">
        <OverLimit id="composer-over" text={text} limit={limits.messageCharacters} />
        {waiting && (
          <p className="composer-waiting" role="status">
            <Icon name="clock" />
            <span>{waitingWords[waiting]}</span>
            <button type="button" className="button" onClick={onTakeBack}>
              Take back
            </button>
          </p>
        )}
        {!isKept && (
          <p className="over-limit" role="status">
            This browser cannot keep the text when the page is closed. Copy it first.
          </p>
        )}
      </div>
      <form
        className="composer"
        onSubmit={event => {
          event.preventDefault()
          void send()
        }}
      >
        <label className="visually-hidden" htmlFor="composer-text">
          Message to the agent
        </label>
        <textarea
          id="composer-text"
          ref={field}
          rows={1}
          value={text}
          placeholder="Message the agent"
          onChange={event => setText(event.target.value)}
          onKeyDown={onKeyDown}
          autoComplete="off"
          aria-invalid={isOver(text, limits.messageCharacters)}
          aria-describedby="composer-hint composer-over"
        />
        {underWay && (
          <button type="button" className="button composer-stop" onClick={onStop}>
            <Icon name="stop" />
            Stop
          </button>
        )}
        <button
          type="submit"
          className="button button-primary composer-send"
          disabled={text.trim() === '' || isOver(text, limits.messageCharacters)}
          aria-label="Send"
        >
          <Icon name="send" />
        </button>
        <p id="composer-hint" className="visually-hidden">
          Enter sends, Shift and Enter starts a new line.
        </p>
      </form>
    </>
  )
}

/**
 * Written on every keystroke, so a send that ends under another key still clears its own. Another tab may have written
 * under the same key meanwhile: its text stays in the store, and what was sent from here still leaves this field.
 */
function useKeptText(key: string) {
  const {person, keep, kept} = useDrafts()
  const [held, setHeld] = useState({person, key, text: kept(key), isKept: true})
  const isHeld = held.key === key && held.person === person
  const text = isHeld ? held.text : kept(key)
  const setText = (next: string) => {
    setHeld({person, key, text: next, isKept: keep(key, next)})
  }
  const clearIfStill = useCallback(
    (sentUnder: string, sent: string) => {
      if (kept(sentUnder).trim() === sent) keep(sentUnder, '')
      setHeld(now => {
        if (now.person !== person || (now.key === sentUnder && now.text.trim() !== sent)) return now
        // Another text is held: a new object only makes the field read its own text again.
        return now.key === sentUnder ? {...now, text: '', isKept: true} : {...now}
      })
    },
    [person, keep, kept],
  )
  return {text, isKept: !isHeld || held.isKept, setText, clearIfStill}
}
