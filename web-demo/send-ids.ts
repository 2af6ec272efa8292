import * as z from 'zod'
import {newEventId, newSessionId} from '../runtime/index.ts'
import {local} from './safe-storage.ts'

const sendIdsSchema = z.object({text: z.string(), message: z.string(), session: z.string()})
export type SendIds = z.infer<typeof sendIdsSchema>

const onlyHere = new Map<string, SendIds>()

/**
 * The ids under which a text is sent. They stay the same until it is known what became of it, across failed tries and a
 * reload, so that the conversation holds it once however often Enter was pressed.
 */
export function sendIds(key: string, text: string): SendIds {
  const known = onlyHere.get(key) ?? stored(key)
  if (known?.text === text) return known
  const ids = {text, message: newEventId(), session: newSessionId()}
  onlyHere.set(key, ids)
  local.write(nameOf(key), JSON.stringify(ids))
  return ids
}

/** It is known what became of the text: the next one is another message, were it the same words. */
export function forgetSendIds(key: string): void {
  onlyHere.delete(key)
  local.remove(nameOf(key))
}

function stored(key: string): SendIds | undefined {
  try {
    return sendIdsSchema.parse(JSON.parse(local.read(nameOf(key)) ?? ''))
  } catch {
    return undefined
  }
}

function nameOf(key: string): string {
  return `send-ids:${key}`
}
