import {Fragment, type ReactNode, useEffect, useSyncExternalStore} from 'react'
import {addressOf} from '../address.ts'
import {pageMarks} from '../crash-mark.ts'
import {navigate} from '../hooks.ts'
import {pagePerson} from '../page-person.ts'
import type {Services} from '../services.ts'

/** Starts the page anew when the person changes, so that nothing of one person stays on the screen for the next. [ID-6] */
export function PersonBoundary({services, children}: {services: Services; children: ReactNode}) {
  const person = useSyncExternalStore(pagePerson.subscribe, pagePerson.get)
  useEffect(() => {
    let stop: (() => void) | null = null
    let over = false
    // The page that shows the runtime says why it could not be opened.
    services.runtime().then(
      runtime => {
        if (!over) stop = pagePerson.follow(runtime.person)
      },
      () => undefined,
    )
    return () => {
      over = true
      stop?.()
    }
  }, [services])
  useEffect(() => pagePerson.subscribe(leave), [])
  return <Fragment key={person}>{children}</Fragment>
}

/** The address and the mark of what was being shown belong to the person who has left. */
function leave(): void {
  pageMarks.end()
  if (new URL(location.href).searchParams.has('session')) navigate(addressOf(null), {replace: true})
}
