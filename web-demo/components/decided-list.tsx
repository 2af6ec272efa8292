import {capital} from '../rules/outcome.ts'
import type {InboxItem} from '../runtime-types.ts'
import {aboutWords, decisionWords} from '../words/approval.ts'
import {exactText} from '../words/exact.ts'
import {StatusDot} from './status-dot.tsx'

export function DecidedList({items}: {items: InboxItem[]}) {
  return (
    <section className="decided" aria-labelledby="decided-title">
      <h2 id="decided-title">Decided</h2>
      <ul>
        {items.map(item => (
          <Decided key={item.approval} item={item} />
        ))}
      </ul>
    </section>
  )
}

function Decided({item}: {item: InboxItem}) {
  const at = item.decidedAt ?? item.requestedAt
  return (
    <li className="decided-item">
      <span className="decided-what">{capital(aboutWords(item))}</span>
      <StatusDot {...decisionWords(item)} />
      <time dateTime={new Date(at).toISOString()}>
        {new Date(at).toLocaleString('en-GB', {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'})}
      </time>
      {item.note && <p className="decided-note">{exactText(item.note)}</p>}
    </li>
  )
}
