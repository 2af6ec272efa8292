import {useEffect} from 'react'
import type {SessionView} from '../runtime-types.ts'
import {forgetArrived} from '../send-ids.ts'
import {useDrafts} from '../unsent.ts'

/**
 * After a reload a text can still stand in the field although its message was stored. Once the conversation shows the
 * message, the outcome is known: `onArrived` is called with the text, and its ids are forgotten, so that the same words
 * typed again are a new message. While `busy`, a send of this page decides about them.
 */
export function useArrived(
  view: SessionView | null,
  busy: boolean,
  onArrived: (key: string, text: string) => void,
): void {
  const {person} = useDrafts()
  const messages = view?.entries.flatMap(entry => (entry.type === 'message' ? [entry.id] : [])).join(' ') ?? ''
  useEffect(() => {
    if (busy || messages === '') return
    for (const {key, text} of forgetArrived(person, new Set(messages.split(' ')))) onArrived(key, text)
  }, [person, messages, busy, onArrived])
}
