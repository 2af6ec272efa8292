import {type MouseEvent, useEffect} from 'react'
import {navigate} from '../hooks.ts'
import {inboxPerson, type Person, people} from '../people.ts'

export const pages = [
  {path: '/', title: 'Desk', person: 'maya'},
  {path: '/inbox', title: 'Approvals', person: 'theo'},
  {path: '/memory', title: 'Memory', person: 'maya'},
  {path: '/shop', title: 'Shop', person: 'maya'},
] as const satisfies readonly {path: string; title: string; person: Person}[]

export function Header({path, as}: {path: string; as: string | null}) {
  const current = pages.find(page => page.path === (path === '/index.html' ? '/' : path))
  const person = people[current?.path === '/inbox' ? inboxPerson(as) : (current ?? pages[0]).person]
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
