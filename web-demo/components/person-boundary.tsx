import {Fragment, type ReactNode, useEffect, useState} from 'react'
import {addressOf} from '../address.ts'
import {pageMarks} from '../crash-mark.ts'
import {navigate} from '../hooks.ts'
import {pagePerson} from '../page-person.ts'
import type {Services} from '../services.ts'

/** Starts the page anew when the person changes, so that nothing of one person stays on the screen for the next. [ID-6] */
export function PersonBoundary({services, children}: {services: Services; children: ReactNode}) {
  const [left, setLeft] = useState(0)
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
  useEffect(() => {
    let here = pagePerson.get()
    let wasNobody = pagePerson.isNobody()
    return pagePerson.subscribe(() => {
      if (here === pagePerson.get()) return
      // Nobody leaves nothing on the screen, and who comes then keeps the panel in which they signed in.
      if (!wasNobody) {
        leave()
        setLeft(count => count + 1)
      }
      here = pagePerson.get()
      wasNobody = pagePerson.isNobody()
    })
  }, [])
  return <Fragment key={left}>{children}</Fragment>
}

/** The address and the mark of what was being shown belong to the person who has left. */
function leave(): void {
  pageMarks.end()
  if (new URL(location.href).searchParams.has('session')) navigate(addressOf(null), {replace: true})
}
