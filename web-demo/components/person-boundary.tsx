import {Fragment, type ReactNode, useEffect, useState} from 'react'
import type {Services} from '../services.ts'

/** Begins the page anew whenever somebody leaves, so that nothing of theirs stays on the screen for the next person. */
export function PersonBoundary({services, children}: {services: Services; children: ReactNode}) {
  const [left, setLeft] = useState(0)
  useEffect(() => {
    let stop: (() => void) | null = null
    let over = false
    let here: string | null = null
    const look = (runtime: Awaited<ReturnType<Services['runtime']>>) => {
      if (over) return
      const follow = () => {
        const person = runtime.person.get()
        const subject = person?.subject ?? null
        if (here !== null && subject !== here) setLeft(count => count + 1)
        here = subject
      }
      follow()
      stop = runtime.person.subscribe(follow)
    }
    // Whoever shows the runtime tells why it could not be opened.
    services.runtime().then(look, () => undefined)
    return () => {
      over = true
      stop?.()
    }
  }, [services])
  return <Fragment key={left}>{children}</Fragment>
}
