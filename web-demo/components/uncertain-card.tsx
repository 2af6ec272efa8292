import {useState} from 'react'
import {limits} from '../../runtime/index.ts'
import {personName} from '../people.ts'
import type {UncertainItem} from '../runtime-types.ts'
import {exactText} from '../words/exact.ts'
import {refundInput} from '../words/refund.ts'
import {isOver, OverLimit} from './over-limit.tsx'
import {Raw} from './tool-card.tsx'

type Said = {happened: true; receipt: string} | {happened: false; reason: string}
type Props = {item: UncertainItem; onSettle: (said: Said) => Promise<boolean>}

/** No system can tell whether the money moved; a person who can find out says so here, and it is final. [OP-4] */
export function UncertainCard({item, onSettle}: Props) {
  const [words, setWords] = useState('')
  const [sending, setSending] = useState(false)
  const {amount, orderId} = refundInput(item.shown)
  const settle = async (said: Said) => {
    setSending(true)
    await onSettle(said)
    setSending(false)
  }
  const said = words.trim()
  const blocked = sending || said === '' || isOver(words, limits.noteCharacters)
  const wordsId = `said-${item.operation}`
  return (
    <article
      className="approval refund-waiting"
      aria-label={`Outcome not known: refund ${amount} for order ${orderId}`}
    >
      <header className="approval-head">
        <div>
          <p className="refund-what">Did this refund happen? Order {orderId}</p>
          <h2 className="refund-amount">{amount}</h2>
        </div>
        <p className="approval-when">Asked for by {personName(item.requestedBy)}</p>
      </header>
      <p className="refund-reason">The call was made and its answer was lost: {exactText(item.reason)}</p>
      <p className="refund-detail">
        It is never sent a second time. Look at the bank, then say here what you found: the conversation goes on with
        it.
      </p>
      <details className="refund-more">
        <summary>Exactly what was sent</summary>
        <Raw label={exactText(`${item.shown.tool}, version ${item.shown.version}`)} value={item.shown.input} />
      </details>
      <div className="decision">
        <label htmlFor={wordsId}>What you found, like a receipt number or where you looked</label>
        <textarea
          id={wordsId}
          rows={2}
          autoComplete="off"
          aria-describedby={`${wordsId}-over`}
          value={words}
          onChange={event => setWords(event.target.value)}
        />
        <OverLimit id={`${wordsId}-over`} text={words} limit={limits.noteCharacters} />
        <div className="decision-buttons">
          <button
            type="button"
            className="button button-primary"
            disabled={blocked}
            onClick={() => void settle({happened: true, receipt: said})}
          >
            It happened
          </button>
          <button
            type="button"
            className="button"
            disabled={blocked}
            onClick={() => void settle({happened: false, reason: said})}
          >
            It did not happen
          </button>
        </div>
      </div>
    </article>
  )
}
