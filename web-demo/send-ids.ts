import * as z from 'zod'
import {newEventId, newSessionId} from '../runtime/index.ts'
import {local} from './safe-storage.ts'

const sendIdsSchema = z.object({text: z.string(), message: z.string(), session: z.string()})
export type SendIds = z.infer<typeof sendIdsSchema>

const onlyHere = new Map<string, SendIds>()

/**
 * The ids under which a text is sent. They stay the same until it is known what became of it, across failed tries and a
 * reload, so that the conversation holds it once however often Enter was pressed. They belong to one person, as the text
 * does. [ID-6]
 */
export function sendIds(person: string, key: string, text: string): SendIds {
  const name = nameOf(person, key)
  const known = onlyHere.get(name) ?? stored(name)
  if (known?.text === text) return known
  const ids = {text, message: newEventId(), session: newSessionId()}
  onlyHere.set(name, ids)
  local.write(name, JSON.stringify(ids))
  return ids
}

/** It is known what became of the text: the next one is another message, were it the same words. */
export function forgetSendIds(person: string, key: string): void {
  onlyHere.delete(nameOf(person, key))
  local.remove(nameOf(person, key))
}

export function forgetSendIdsOf(person: string): void {
  const own = nameOf(person, '')
  for (const name of [...onlyHere.keys()]) if (name.startsWith(own)) onlyHere.delete(name)
  for (const name of local.keys()) if (name.startsWith(own)) local.remove(name)
}

function stored(name: string): SendIds | undefined {
  try {
    return sendIdsSchema.parse(JSON.parse(local.read(name) ?? ''))
  } catch {
    return undefined
  }
}

function nameOf(person: string, key: string): string {
  return `send-ids:${person}:${key}`
}
