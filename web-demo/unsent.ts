import {local} from './safe-storage.ts'
import {signIn} from './sign-in.ts'

/** Texts that the browser did not keep: it forbids storage, or the text is larger than it may be there. */
const onlyHere = new Map<string, string>()

/** Characters that are written to `localStorage` at every keystroke; it holds about 5 million for the whole site. */
const mostKept = 500_000

/** Text that a person typed and did not send, by conversation; "new" is the one that has not started. It outlives the page. */
export function kept(key: string): string {
  return onlyHere.get(nameOf(key)) ?? local.read(nameOf(key)) ?? ''
}

/** False when the text is kept only as long as this page is open. */
export function keep(key: string, text: string): boolean {
  onlyHere.delete(nameOf(key))
  if (text !== '' && text.length <= mostKept && local.write(nameOf(key), text)) return true
  // An earlier text must not come back in place of this one.
  local.remove(nameOf(key))
  if (text === '') return true
  onlyHere.set(nameOf(key), text)
  return false
}

/** What was typed where nothing can be sent any more goes on in the next conversation; what waits there already stays. */
export function moveToNew(key: string): void {
  if (kept('new') === '') keep('new', kept(key))
  else if (kept(key) !== '') keep('new', `${kept('new')}\n\n${kept(key)}`)
  keep(key, '')
}

/** All that was typed into a conversation and not sent or stored. */
export function forgetUnsent(session: string): void {
  const isOfSession = (name: string) => name === nameOf(session) || name.startsWith(`${nameOf(session)}:`)
  for (const name of [...onlyHere.keys()]) if (isOfSession(name)) onlyHere.delete(name)
  for (const name of local.keys()) if (isOfSession(name)) local.remove(name)
}

/** All that a person has typed at this browser and not sent. */
export function forgetUnsentOf(person: string): void {
  const own = `unsent:${person}:`
  for (const name of [...onlyHere.keys()]) if (name.startsWith(own)) onlyHere.delete(name)
  for (const name of local.keys()) if (name.startsWith(own)) local.remove(name)
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

function nameOf(key: string): string {
  return `unsent:${signIn.get() ?? 'nobody'}:${key}`
}
