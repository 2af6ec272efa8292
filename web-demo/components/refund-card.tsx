import type {ToolEntry} from '../runtime-types.ts'
import {refundInput, tellRefund} from '../words/refund.ts'
import {DurabilityMark} from './durability-mark.tsx'
import {StatusDot} from './status-dot.tsx'
import {Raw} from './tool-card.tsx'

export function RefundCard({entry}: {entry: ToolEntry}) {
  const {amount, orderId, reason} = refundInput(entry)
  const {state, detail, tone} = tellRefund(entry)
  return (
    <section className={`refund refund-${tone}`} aria-label={`Refund of ${amount} for order ${orderId}: ${state}`}>
      <div className="refund-head">
        <div>
          <p className="refund-what">Refund, order {orderId}</p>
          <p className="refund-amount">{amount}</p>
        </div>
        <StatusDot tone={tone} words={state} />
      </div>
      <p className="refund-reason">{reason}</p>
      {detail && <p className="refund-detail">{detail}</p>}
      <details className="refund-more">
        <summary>Exactly what was proposed</summary>
        <Raw label="Input" value={entry.input} />
        {entry.operation && <Raw label="Operation" value={entry.operation} />}
      </details>
      {entry.durability.status !== 'server' && <DurabilityMark durability={entry.durability} />}
    </section>
  )
}
