import {memo} from 'react'
import type {Session, StepRef, TranscriptEntry} from '../runtime-types.ts'
import {noticeWords} from '../words/notice.ts'
import {plainTextOf} from '../words/plain.ts'
import {Boundary} from './boundary.tsx'
import {CutText} from './cut-text.tsx'
import {DurabilityMark} from './durability-mark.tsx'
import {EntryMenu} from './entry-menu.tsx'
import {PlainText} from './plain-text.tsx'
import {Prose} from './prose.tsx'
import {RefundCard} from './refund-card.tsx'
import {ToolCard} from './tool-card.tsx'

type Props = {
  entry: TranscriptEntry
  session: Session | null
  onBranch: (after: number) => void
  onLook: (step: StepRef) => void
}

/** Memoised, because a long conversation would otherwise render whole on every streamed word. */
export const Entry = memo(function Entry({entry, session, onBranch, onLook}: Props) {
  return (
    <li className={`entry entry-${entry.type}`}>
      <Boundary shows={entry} fallback={<PlainEntry entry={entry} />}>
        <EntryBody entry={entry} />
        <CutText entry={entry} session={session} />
      </Boundary>
      {(entry.type === 'message' || entry.type === 'reply') && (
        <div className="entry-foot">
          <time dateTime={new Date(entry.at).toISOString()}>{clock(entry.at)}</time>
          <DurabilityMark durability={entry.durability} />
          <EntryMenu entry={entry} onBranch={onBranch} onLook={onLook} />
        </div>
      )}
    </li>
  )
})

function EntryBody({entry}: {entry: TranscriptEntry}) {
  switch (entry.type) {
    case 'message':
      return (
        <>
          <h2 className="visually-hidden">You</h2>
          <div className="bubble">
            <PlainText text={entry.text} />
          </div>
        </>
      )
    case 'reply':
      return (
        <>
          <h2 className="visually-hidden">Agent</h2>
          <Prose text={entry.text} />
        </>
      )
    case 'tool':
      return entry.tool === 'refundOrder' ? <RefundCard entry={entry} /> : <ToolCard entry={entry} />
    case 'notice':
      return <Notice entry={entry} />
  }
}

/** What an entry holds, when its usual form could not be rendered. */
function PlainEntry({entry}: {entry: TranscriptEntry}) {
  return (
    <div className="prose">
      <p className="hint">This entry could not be shown as usual. This is what it holds.</p>
      <PlainText text={plainTextOf(entry)} />
    </div>
  )
}

function Notice({entry}: {entry: Extract<TranscriptEntry, {type: 'notice'}>}) {
  const words = noticeWords(entry)
  if (entry.detail === undefined) return <p className={`notice notice-${entry.about}`}>{words}</p>
  return (
    <details className={`notice notice-${entry.about}`}>
      <summary>{words}</summary>
      <div className="notice-detail">
        <PlainText text={entry.detail} />
      </div>
    </details>
  )
}

function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'})
}
