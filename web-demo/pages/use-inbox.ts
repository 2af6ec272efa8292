import {useEffect, useState} from 'react'
import type {Person} from '../people.ts'
import type {Inbox, InboxState} from '../runtime-types.ts'
import {useServices} from '../services.ts'

/** The inbox of one person, open as long as the page shows it. A page without it keeps nothing of this person. */
export function useInbox(person: Person): {inbox: Inbox | null; state: InboxState | null} {
  const services = useServices()
  const [held, setHeld] = useState<{inbox: Inbox; state: InboxState | null} | null>(null)
  useEffect(() => {
    const inbox = services.inbox(person)
    setHeld({inbox, state: null})
    const unsubscribe = inbox.subscribe(state => setHeld({inbox, state}))
    return () => {
      unsubscribe()
      inbox.close()
    }
  }, [services, person])
  return held ?? {inbox: null, state: null}
}
