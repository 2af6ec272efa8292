import {useState} from 'react'
import {limits} from '../../runtime/index.ts'
import {useNow} from '../hooks.ts'
import {euros} from '../money.ts'
import {personName} from '../people.ts'
import type {Decision, InboxItem} from '../runtime-types.ts'
import type {Order} from '../shop/order.ts'
import {escalationWords, peopleWords, remaining, standingWords} from '../words/approval.ts'
import {exactText} from '../words/exact.ts'
import {refundInput} from '../words/refund.ts'
import {Banner} from './banner.tsx'
import {isOver, OverLimit} from './over-limit.tsx'
import {Raw} from './tool-card.tsx'

type Props = {
  item: InboxItem
  /** What the shop says about the order now; null when it cannot be read. */
  order: Order | null
  /** A decision about it is kept on this device and not handed in yet. */
  kept: boolean | undefined
  /** Out of reach of the server, on a device that cannot decide offline. */
  mustWait: boolean
  onDecide: (verdict: Decision['verdict'], note: string) => Promise<boolean>
}

/** What stands here comes from the record that the digest covers: it is exactly what will be executed. [APP-3] */
export function ApprovalCard({item, order, kept, mustWait, onDecide}: Props) {
  const now = useNow(30_000)
  const {amount, orderId, reason} = refundInput(item.shown)
  const standing = kept ? 'You have decided this here; the server has not taken it yet.' : standingWords(item)
  const progress = [peopleWords(item), escalationWords(item, now)].filter(words => words !== null)
  return (
    <article className="approval" aria-label={`Refund ${amount} for order ${orderId}`}>
      <header className="approval-head">
        <div>
          <p className="refund-what">Refund, order {orderId}</p>
          <h2 className="refund-amount">{amount}</h2>
        </div>
        <p className="approval-when">
          {personName(item.requestedBy)} asks, {remaining(item.expiresAt - now)}
        </p>
      </header>
      <p className="refund-reason">“{reason}”</p>
      <p className="refund-detail">{exactText(item.reason)}</p>
      {progress.map(words => (
        <p key={words} className="approval-progress">
          {words}
        </p>
      ))}
      {order && <OrderContext order={order} />}
      {order && centsOf(item) > order.refundableCents && (
        <Banner tone="waiting">Less than this is left of the order now, so the server would not pay it.</Banner>
      )}
      <details className="refund-more">
        <summary>Exactly what will be executed</summary>
        <Raw label={exactText(`${item.shown.tool}, version ${item.shown.version}`)} value={item.shown.input} />
        <p className="digest">
          Digest <code>{item.digest}</code>
        </p>
      </details>
      {standing !== null && <p className="approval-standing">{standing}</p>}
      {!kept && item.you !== 'asked_for_it' && (
        <DecisionForm
          item={item}
          amount={amount}
          mayApprove={item.you === 'may_decide'}
          mustWait={mustWait}
          onDecide={onDecide}
        />
      )}
    </article>
  )
}

type FormProps = Pick<Props, 'item' | 'mustWait' | 'onDecide'> & {
  amount: string
  /** Whoever has said yes may still say no, until it has been carried out. */
  mayApprove: boolean
}

function DecisionForm({item, amount, mayApprove, mustWait, onDecide}: FormProps) {
  const [note, setNote] = useState('')
  const [deciding, setDeciding] = useState(false)
  const decide = async (verdict: Decision['verdict']) => {
    setDeciding(true)
    await onDecide(verdict, note.trim())
    setDeciding(false)
  }
  const noteId = `note-${item.approval}`
  const blocked = deciding || mustWait || isOver(note, limits.noteCharacters)
  return (
    <div className="decision">
      <label htmlFor={noteId}>Note (optional)</label>
      <textarea
        id={noteId}
        rows={2}
        autoComplete="off"
        aria-describedby={`${noteId}-over`}
        value={note}
        onChange={event => setNote(event.target.value)}
      />
      <OverLimit id={`${noteId}-over`} text={note} limit={limits.noteCharacters} />
      <div className="decision-buttons">
        {mayApprove && (
          <button
            type="button"
            className="button button-primary"
            disabled={blocked}
            onClick={() => void decide('approve')}
          >
            Approve {amount}
          </button>
        )}
        <button type="button" className="button" disabled={blocked} onClick={() => void decide('reject')}>
          Reject
        </button>
      </div>
    </div>
  )
}

function centsOf({shown: {input}}: InboxItem): number {
  const fields = input !== null && typeof input === 'object' && !Array.isArray(input) ? input : {}
  return typeof fields.cents === 'number' ? fields.cents : 0
}

function OrderContext({order}: {order: Order}) {
  return (
    <dl className="facts approval-order">
      <div>
        <dt>Customer</dt>
        <dd>{exactText(order.customer.name)}</dd>
      </div>
      <div>
        <dt>Order</dt>
        <dd>
          {exactText(order.items.map(item => `${item.quantity} × ${item.name}`).join(', '))}; {order.status}
        </dd>
      </div>
      <div>
        <dt>Total</dt>
        <dd>
          {euros(order.totalCents)}, of which {euros(order.refundableCents)} can be refunded
        </dd>
      </div>
    </dl>
  )
}
