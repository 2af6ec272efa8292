import {memo} from 'react'
import type {StepRef, TranscriptEntry} from '../runtime-types.ts'
import {noticeWords} from '../words/notice.ts'
import {DurabilityMark} from './durability-mark.tsx'
import {EntryMenu} from './entry-menu.tsx'
import {Prose} from './prose.tsx'
import {RefundCard} from './refund-card.tsx'
import {ToolCard} from './tool-card.tsx'

type Props = {entry: TranscriptEntry; onBranch: (after: number) => void; onLook: (step: StepRef) => void}

/** Memoised, because a long conversation would otherwise render whole on every streamed word. */
export const Entry = memo(function Entry({entry, onBranch, onLook}: Props) {
  return (
    <li className={`entry entry-${entry.type}`}>
      <EntryBody entry={entry} />
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
          <p className="bubble">{entry.text}</p>
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

function Notice({entry}: {entry: Extract<TranscriptEntry, {type: 'notice'}>}) {
  const words = noticeWords(entry)
  if (entry.detail === undefined) return <p className={`notice notice-${entry.about}`}>{words}</p>
  return (
    <details className={`notice notice-${entry.about}`}>
      <summary>{words}</summary>
      <p className="notice-detail">{entry.detail}</p>
    </details>
  )
}

function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'})
}
