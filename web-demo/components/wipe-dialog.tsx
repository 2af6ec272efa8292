import {AlertDialog} from '@base-ui/react/alert-dialog'
import {useRef} from 'react'
import {HoldfastError} from '../../runtime/index.ts'
import {addressOf} from '../address.ts'
import {navigate, useAction} from '../hooks.ts'
import {personName} from '../people.ts'
import type {BrowserRuntime, PersonState} from '../runtime-types.ts'
import {signIn} from '../sign-in.ts'
import {forgetUnsentOf} from '../unsent.ts'
import {wipeSentences} from '../words/person.ts'
import {Problems} from './problems.tsx'

type Props = {
  runtime: BrowserRuntime
  person: PersonState
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Says how much would be lost before anything is, because nothing undoes it. */
export function WipeDialog({runtime, person, open, onOpenChange}: Props) {
  const {problems, run, dismiss} = useAction()
  const keep = useRef<HTMLButtonElement>(null)
  const wipe = () =>
    run(async () => {
      // Only as much may be lost as was on the screen.
      await runtime.wipe({discardUnsent: person.unsent}).catch(sayWhatIsNew)
      forgetUnsentOf(person.subject)
      signIn.set(null)
      navigate(addressOf(null), {replace: true})
    })
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
          <AlertDialog.Title className="dialog-title">
            Delete {personName(person.subject)}’s data from this browser?
          </AlertDialog.Title>
          <AlertDialog.Description className="dialog-text" render={<ul />}>
            {wipeSentences(personName(person.subject), person.unsent).map(sentence => (
              <li key={sentence}>{sentence}</li>
            ))}
          </AlertDialog.Description>
          <Problems problems={problems} onDismiss={dismiss} />
          <div className="dialog-buttons">
            <AlertDialog.Close className="button" ref={keep}>
              Keep it
            </AlertDialog.Close>
            <button type="button" className="button button-bad" onClick={() => void wipe()}>
              Delete for good
            </button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

function sayWhatIsNew(error: unknown): never {
  if (!HoldfastError.is(error, 'refused')) throw error
  throw new Error('More has been written meanwhile, so nothing was deleted. Read the number again before you delete.')
}
