import {AlertDialog} from '@base-ui/react/alert-dialog'
import {useRef, useState} from 'react'
import {limits} from '../../runtime/index.ts'
import {useAction} from '../hooks.ts'
import type {Connection, SessionView} from '../runtime-types.ts'
import {closingSentences} from '../words/closing.ts'
import {isOver, OverLimit} from './over-limit.tsx'
import {Problems} from './problems.tsx'

type Props = {
  view: SessionView
  connection: Connection['state']
  open: boolean
  onOpenChange: (open: boolean) => void
  /** Throws what is to be told when the conversation was not closed. */
  onClose: (reason: string) => Promise<void>
}

/** Says what closing means for this very conversation before it is done, because nothing undoes it. */
export function CloseDialog({view, connection, open, onOpenChange, onClose}: Props) {
  const {problems, run, dismiss} = useAction()
  const [reason, setReason] = useState('')
  const [closing, setClosing] = useState(false)
  // Nothing that cannot be undone is one key away, and no keyboard covers the text on a phone.
  const keep = useRef<HTMLButtonElement>(null)
  const close = async () => {
    setClosing(true)
    const done = await run(() => onClose(reason.trim()))
    setClosing(false)
    if (done) onOpenChange(false)
  }
  return (
    <AlertDialog.Root
      open={open}
      onOpenChange={next => {
        for (const {id} of problems) dismiss(id)
        onOpenChange(next)
      }}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog" initialFocus={keep}>
          <AlertDialog.Title className="dialog-title">Close this conversation for good?</AlertDialog.Title>
          <AlertDialog.Description className="dialog-text" render={<ul />}>
            {closingSentences(view, connection).map(sentence => (
              <li key={sentence}>{sentence}</li>
            ))}
          </AlertDialog.Description>
          <Problems problems={problems} onDismiss={dismiss} />
          <label className="dialog-label" htmlFor="close-reason">
            Reason (optional)
          </label>
          <textarea
            id="close-reason"
            rows={2}
            autoComplete="off"
            aria-describedby="close-reason-over"
            value={reason}
            onChange={event => setReason(event.target.value)}
          />
          <OverLimit id="close-reason-over" text={reason} limit={limits.reasonCharacters} />
          <div className="dialog-buttons">
            <AlertDialog.Close className="button" ref={keep}>
              Keep it open
            </AlertDialog.Close>
            <button
              type="button"
              className="button button-bad"
              disabled={closing || isOver(reason, limits.reasonCharacters)}
              onClick={() => void close()}
            >
              Close for good
            </button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
