import {useCallback, useEffect, useState} from 'react'
import {pageMarks} from '../crash-mark.ts'
import type {Session, SessionView} from '../runtime-types.ts'

/** Marks the session before each view of it is rendered. */
export function markedSubscription(session: Session) {
  return (listener: (view: SessionView) => void) =>
    session.subscribe(view => {
      pageMarks.begin(session.id)
      listener(view)
    })
}

/** Milliseconds after a view was committed in which the browser has laid it out, if it can. */
const layoutMs = 500

export function useShown(view: SessionView | null): void {
  useEffect(() => {
    if (!view) return
    const timer = setTimeout(() => pageMarks.end(), layoutMs)
    return () => clearTimeout(timer)
  }, [view])
}

/** Whether this conversation is to stay closed because a page did not survive it, until the person says otherwise. */
export function useAvoided(session: string | null): {avoided: boolean; retry: () => void} {
  const [decided, setDecided] = useState<{session: string | null; avoided: boolean}>()
  const avoided = decided?.session === session ? decided.avoided : session !== null && pageMarks.crashed(session)
  useEffect(() => setDecided({session, avoided}), [session, avoided])
  const retry = useCallback(() => {
    if (session !== null) pageMarks.forgive(session)
    setDecided({session, avoided: false})
  }, [session])
  return {avoided, retry}
}
