import {useMemo, useSyncExternalStore} from 'react'
import {pagePerson} from './page-person.ts'
import {local, ofTab} from './safe-storage.ts'
import {forgetSendIdsIn, forgetSendIdsOf} from './send-ids.ts'

/** Texts that the browser did not keep: it forbids storage, or the text is larger than it may be there. */
const onlyHere = new Map<string, string>()

/** Characters that are written to `localStorage` at every keystroke; it holds about 5 million for the whole site. */
const mostKept = 500_000

/**
 * Text that one person typed and did not send, by conversation; "new" is the one that has not started. It outlives the
 * page. Each tab keeps its own text in `sessionStorage`, because two tabs may write in one conversation; `localStorage`
 * holds the last text of any tab, for a tab that has none.
 */
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
  const kept = (key: string) => onlyHere.get(nameOf(key)) ?? ofTab.read(nameOf(key)) ?? local.read(nameOf(key)) ?? ''
  const keep = (key: string, text: string) => {
    const name = nameOf(key)
    const earlier = kept(key)
    onlyHere.delete(name)
    if (text !== '' && text.length <= mostKept && local.write(name, text)) {
      if (!ofTab.write(name, text)) ofTab.remove(name)
      return true
    }
    // An earlier text of this tab must not come back in place of this one. Another tab's text stays.
    ofTab.remove(name)
    if (local.read(name) === earlier) local.remove(name)
    if (text === '') return true
    onlyHere.set(name, text)
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
    forget(session) {
      drop(name => name === nameOf(session) || name.startsWith(`${nameOf(session)}:`))
      forgetSendIdsIn(person, session)
    },
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
  const wiped = `${Date.now()} ${person}`
  local.write(wipedKey, wiped)
  ofTab.write(wipedKey, wiped)
}

/** Other tabs hold texts of their own. A tab that was unloaded during the wipe deletes its texts when it is loaded again. */
export function forgetWithOtherTabs(): void {
  const wipedBefore = local.read(wipedKey)
  if (wipedBefore && wipedBefore !== ofTab.read(wipedKey)) {
    // What stands in the shared place may have been typed after the wipe, so only this tab's texts are deleted.
    dropFromTab(name => name.startsWith(prefixOf(personIn(wipedBefore))))
    ofTab.write(wipedKey, wipedBefore)
  }
  addEventListener('storage', ({key, newValue}) => {
    if (key !== wipedKey || !newValue) return
    dropAllOf(personIn(newValue))
    ofTab.write(wipedKey, newValue)
  })
}

function personIn(wiped: string): string {
  return wiped.slice(wiped.indexOf(' ') + 1)
}

/** When a tab closes, its text takes the shared place if no other tab's text is there, so that a later tab shows it. */
export function shareWhenClosed(): void {
  addEventListener('pagehide', () => {
    for (const name of ofTab.keys().filter(each => each.startsWith(prefix))) {
      if (!local.read(name)) local.write(name, ofTab.read(name) ?? '')
    }
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

const prefix = 'unsent:'

function prefixOf(person: string): string {
  return `${prefix}${person}:`
}

function dropAllOf(person: string): void {
  drop(name => name.startsWith(prefixOf(person)))
  forgetSendIdsOf(person)
}

function drop(isMeant: (name: string) => boolean): void {
  dropFromTab(isMeant)
  for (const name of local.keys()) if (isMeant(name)) local.remove(name)
}

function dropFromTab(isMeant: (name: string) => boolean): void {
  for (const name of [...onlyHere.keys()]) if (isMeant(name)) onlyHere.delete(name)
  for (const name of ofTab.keys()) if (isMeant(name)) ofTab.remove(name)
}
