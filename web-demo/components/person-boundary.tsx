import {Fragment, type ReactNode, useEffect, useState} from 'react'
import {addressOf} from '../address.ts'
import {pageMarks} from '../crash-mark.ts'
import {navigate} from '../hooks.ts'
import {pagePerson} from '../page-person.ts'

/**
 * Starts the page anew when the person changes, so that nothing of one person stays on the screen for the next. [ID-6]
 * It opens no runtime: a page that needs none, such as the approvals, must not own a database or run an agent.
 */
export function PersonBoundary({children}: {children: ReactNode}) {
  const [left, setLeft] = useState(0)
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
