import type {SessionListItem} from '../runtime-types.ts'
import {statusWords} from '../words/session.ts'
import {Boundary} from './boundary.tsx'
import {Icon} from './icon.tsx'
import {StatusDot} from './status-dot.tsx'

type Props = {
  sessions: SessionListItem[] | null
  current: string | null
  onOpen: (session: string | null) => void
}

export function SessionList({sessions, current, onOpen}: Props) {
  return (
    <div className="sessions">
      <button type="button" className="button sessions-new" onClick={() => onOpen(null)}>
        <Icon name="plus" />
        New conversation
      </button>
      {sessions === null && <p className="skeleton-lines" aria-hidden="true" />}
      {sessions?.length === 0 && <p className="hint">Conversations appear here, also without a connection.</p>}
      <ul className="sessions-list">
        {sessions?.map(session => (
          <li key={session.id}>
            <Boundary shows={session} fallback={<PlainSession id={session.id} onOpen={onOpen} />}>
              <SessionButton session={session} isCurrent={session.id === current} onOpen={onOpen} />
            </Boundary>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A conversation whose title or state could not be rendered can still be opened. */
function PlainSession({id, onOpen}: {id: string; onOpen: Props['onOpen']}) {
  return (
    <button type="button" className="session" onClick={() => onOpen(id)}>
      <span className="session-title">Conversation</span>
    </button>
  )
}

function SessionButton({
  session,
  isCurrent,
  onOpen,
}: {
  session: SessionListItem
  isCurrent: boolean
  onOpen: Props['onOpen']
}) {
  const {words, tone} = statusWords(session.status)
  return (
    <button
      type="button"
      className="session"
      aria-current={isCurrent ? 'true' : undefined}
      onClick={() => onOpen(session.id)}
    >
      <span className="session-title">{session.title ?? (session.excerpt || 'New conversation')}</span>
      {session.title !== session.excerpt && <span className="session-excerpt">{session.excerpt}</span>}
      <span className="session-foot">
        <StatusDot tone={tone} words={words} />
        {session.pending > 0 && <NotSynced count={session.pending} />}
        <time dateTime={new Date(session.updatedAt).toISOString()}>{dayOrTime(session.updatedAt)}</time>
      </span>
    </button>
  )
}

function NotSynced({count}: {count: number}) {
  return (
    <span className="mark mark-device" title={`${count} only on this device`}>
      <Icon name="clock" />
      {count}
      <span className="visually-hidden"> only on this device</span>
    </span>
  )
}

function dayOrTime(at: number): string {
  const date = new Date(at)
  const today = date.toDateString() === new Date().toDateString()
  return date.toLocaleString('en-GB', today ? {hour: '2-digit', minute: '2-digit'} : {day: 'numeric', month: 'short'})
}
