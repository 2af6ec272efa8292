import {useMemo, useSyncExternalStore} from 'react'
import {pagePerson} from './page-person.ts'
import {local} from './safe-storage.ts'
import {forgetSendIdsOf} from './send-ids.ts'

/** Texts that the browser did not keep: it forbids storage, or the text is larger than it may be there. */
const onlyHere = new Map<string, string>()

/** Characters that are written to `localStorage` at every keystroke; it holds about 5 million for the whole site. */
const mostKept = 500_000

/** Text that one person typed and did not send, by conversation; "new" is the one that has not started. It outlives the page. */
export type Drafts = {
  readonly person: string
  kept(key: string): string
  /** False when the text is kept only as long as this page is open. */
  keep(key: string, text: string): boolean
  /** What was typed where nothing can be sent any more goes to the next conversation, after what waits there already. */
  moveToNew(key: string): void
  /** All that was typed into a conversation and not sent or stored. */
  forget(session: string): void
}

/** They stay this person's, whoever is signed in when a late answer writes to them. [ID-6] */
export function draftsOf(person: string): Drafts {
  const nameOf = (key: string) => `${prefixOf(person)}${key}`
  const kept = (key: string) => onlyHere.get(nameOf(key)) ?? local.read(nameOf(key)) ?? ''
  const keep = (key: string, text: string) => {
    onlyHere.delete(nameOf(key))
    if (text !== '' && text.length <= mostKept && local.write(nameOf(key), text)) return true
    // An earlier text must not come back in place of this one.
    local.remove(nameOf(key))
    if (text === '') return true
    onlyHere.set(nameOf(key), text)
    return false
  }
  return {
    person,
    kept,
    keep,
    moveToNew(key) {
      if (kept('new') === '') keep('new', kept(key))
      else if (kept(key) !== '') keep('new', `${kept('new')}\n\n${kept(key)}`)
      keep(key, '')
    },
    forget: session => drop(name => name === nameOf(session) || name.startsWith(`${nameOf(session)}:`)),
  }
}

/** The drafts of whoever is on the page; a late answer keeps those of the person it was rendered for. */
export function useDrafts(): Drafts {
  const person = useSyncExternalStore(pagePerson.subscribe, pagePerson.get)
  return useMemo(() => draftsOf(person), [person])
}

const wipedKey = 'demo-wiped'

/** All that a person has typed at this browser and not sent, in every tab. */
export function forgetUnsentOf(person: string): void {
  dropAllOf(person)
  local.write(wipedKey, `${Date.now()} ${person}`)
}

/** Other tabs hold texts in memory that no storage shows. */
export function forgetWithOtherTabs(): void {
  addEventListener('storage', ({key, newValue}) => {
    if (key === wipedKey && newValue) dropAllOf(newValue.slice(newValue.indexOf(' ') + 1))
  })
}

/** The text of a shared document that was too long to be stored. */
export function documentKey(session: string, document: string): string {
  return `${session}:${document}`
}

/** Asks before a page is closed with text that only it has. */
export function warnBeforeLosing(): void {
  addEventListener('beforeunload', event => {
    if (onlyHere.size > 0) event.preventDefault()
  })
}

function prefixOf(person: string): string {
  return `unsent:${person}:`
}

function dropAllOf(person: string): void {
  drop(name => name.startsWith(prefixOf(person)))
  forgetSendIdsOf(person)
}

function drop(isMeant: (name: string) => boolean): void {
  for (const name of [...onlyHere.keys()]) if (isMeant(name)) onlyHere.delete(name)
  for (const name of local.keys()) if (isMeant(name)) local.remove(name)
}
