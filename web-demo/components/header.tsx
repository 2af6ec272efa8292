import {type MouseEvent, useEffect, useSyncExternalStore} from 'react'
import {navigate} from '../hooks.ts'
import {leftPersons} from '../left-persons.ts'
import {inboxPerson, people} from '../people.ts'
import {signIn} from '../sign-in.ts'

export const pages = [
  {path: '/', title: 'Desk'},
  {path: '/inbox', title: 'Approvals'},
  {path: '/memory', title: 'Memory'},
  {path: '/shop', title: 'Shop'},
] as const satisfies readonly {path: string; title: string}[]

export function Header({path, as}: {path: string; as: string | null}) {
  const signedIn = useSyncExternalStore(signIn.subscribe, signIn.get)
  const current = pages.find(page => page.path === (path === '/index.html' ? '/' : path))
  const asked = inboxPerson(as)
  const left = useSyncExternalStore(leftPersons.subscribe, () => leftPersons.has(asked))
  const atInbox = left ? null : asked
  const who = current?.path === '/inbox' ? atInbox : signedIn
  const person = who ? people[who] : {name: 'Nobody', job: 'Signed out'}
  const title = current?.title ?? 'Not found'
  useEffect(() => {
    document.title = `${title} · Fernweh Outfitters`
  }, [title])
  return (
    <header className="header">
      <p className="wordmark">
        Fernweh <span>Outfitters</span>
      </p>
      <nav className="nav" aria-label="Pages">
        {pages.map(page => (
          <a
            key={page.path}
            href={page.path}
            aria-current={page === current ? 'page' : undefined}
            onClick={event => follow(event, page.path)}
          >
            {page.title}
          </a>
        ))}
      </nav>
      <p className="person">
        <span className="visually-hidden">You are </span>
        {person.name}
        <span className="person-job">{person.job}</span>
      </p>
    </header>
  )
}

/** Follows a link within the page, so that the runtime stays open; a modified click keeps its usual meaning. */
export function follow(event: MouseEvent, to: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return
  event.preventDefault()
  navigate(to)
}
