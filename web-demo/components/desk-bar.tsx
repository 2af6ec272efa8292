import type {ReactNode} from 'react'
import type {Connection, Opening, SessionView} from '../runtime-types.ts'
import {openingStatus} from '../words/opening.ts'
import {connectionWords, modelWords, statusWords} from '../words/session.ts'
import {StatusDot} from './status-dot.tsx'

type Props = {
  view: SessionView | null
  connection: Connection
  opening: Opening
  signedOut: boolean
  left: ReactNode
  menu: ReactNode
  right: ReactNode
}

const nobodyHere = {words: 'Signed out', tone: 'waiting'} as const

/** What conversation this is, how it stands and whether the server is there: on every width. */
export function DeskBar({view, connection, opening, signedOut, left, menu, right}: Props) {
  const link = signedOut ? nobodyHere : (openingStatus(opening) ?? connectionWords(connection))
  const run = view && view.status !== 'idle' ? statusWords(view.status) : null
  const model = view?.passport?.pin.model.label
  return (
    <div className="desk-bar">
      {left}
      <div className="desk-bar-title">
        <h1>{view?.title ?? (signedOut ? 'Refund desk' : 'New conversation')}</h1>
        <p className="desk-bar-facts">
          {run && <StatusDot tone={run.tone} words={run.words} />}
          <StatusDot tone={link.tone} words={link.words} />
          {model && <span className="desk-bar-model">{modelWords(model)}</span>}
        </p>
      </div>
      {menu}
      {right}
    </div>
  )
}
