import {Banner} from '../components/banner.tsx'
import {Part} from '../components/boundary.tsx'
import {UpdateNote} from '../components/update-note.tsx'
import {euros} from '../money.ts'
import type {Order, Refund} from '../shop/order.ts'
import {exactText} from '../words/exact.ts'
import {useShop} from './use-shop.ts'

export function ShopPage() {
  const {shop, readAt, problem} = useShop(3_000)
  return (
    <main className="page page-wide">
      <div className="page-head">
        <h1>Shop</h1>
        {readAt !== null && <p className="hint">As of {new Date(readAt).toLocaleTimeString('en-GB')}</p>}
      </div>
      <p className="hint page-hint">
        These are the shop’s own tables. They belong to no person: everybody who works here sees the same, signed in or
        not.
      </p>
      <UpdateNote runtime={null} />
      {problem && (
        <Banner tone="waiting">
          {problem} {shop ? 'This is what was read last.' : 'The tables show up when it does.'}
        </Banner>
      )}
      {!shop && !problem && <p className="skeleton-lines" aria-hidden="true" />}
      {shop && (
        <Part name="The orders" shows={shop}>
          <Orders orders={shop.orders} />
        </Part>
      )}
      {shop && (
        <Part name="The refunds" shows={shop}>
          <Refunds refunds={shop.refunds} />
        </Part>
      )}
    </main>
  )
}

function Orders({orders}: {orders: Order[]}) {
  return (
    <table className="table">
      <caption>Orders</caption>
      <thead>
        <tr>
          <th scope="col">Order</th>
          <th scope="col">Customer</th>
          <th scope="col" className="wide-only">
            Items
          </th>
          <th scope="col" className="wide-only">
            State
          </th>
          <th scope="col" className="number">
            Total
          </th>
          <th scope="col" className="number">
            Refunded
          </th>
        </tr>
      </thead>
      <tbody>
        {orders.map(order => (
          <tr key={order.id}>
            <th scope="row">{exactText(order.id)}</th>
            <td>{exactText(order.customer.name)}</td>
            <td className="wide-only">
              {exactText(order.items.map(item => `${item.quantity} × ${item.name}`).join(', '))}
            </td>
            <td className="wide-only">{order.status}</td>
            <td className="number">{euros(order.totalCents)}</td>
            <td className="number">
              {order.refundedCents > 0 ? euros(order.refundedCents) : <span className="nothing">none</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Refunds({refunds}: {refunds: Refund[]}) {
  if (refunds.length === 0)
    return <p className="hint">No refund has been paid yet. The first one shows up here by itself.</p>
  return (
    <table className="table">
      <caption>Refunds paid</caption>
      <thead>
        <tr>
          <th scope="col">Order</th>
          <th scope="col" className="number">
            Amount
          </th>
          <th scope="col">Reason</th>
          <th scope="col">Paid</th>
          <th scope="col" className="wide-only">
            Receipt
          </th>
        </tr>
      </thead>
      <tbody>
        {refunds.map(refund => (
          <tr key={refund.id}>
            <th scope="row">{exactText(refund.orderId)}</th>
            <td className="number">{euros(refund.cents)}</td>
            <td>{exactText(refund.reason)}</td>
            <td>
              {new Date(refund.createdAt).toLocaleString('en-GB', {
                day: 'numeric',
                month: 'short',
                hour: '2-digit',
                minute: '2-digit',
              })}
            </td>
            <td className="wide-only">
              <code>{exactText(refund.id)}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
