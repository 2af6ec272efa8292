import {newEventId, newSessionId} from '../runtime/index.ts'
import {local} from './safe-storage.ts'
import {recordFor, type SendRecord, sendRecordSchema, sortedOut} from './send-records.ts'

/**
 * Records that this page uses, by their name in the storage. Another tab can delete what is stored when it sees the
 * message while a send of this page has not ended; a retry here must still use the same ids.
 */
const inUse = new Map<string, SendRecord>()

/**
 * The ids under which a text is sent. They stay the same until it is known what became of it, across failed tries, a
 * reload and another tab that sends the same text, so that the conversation holds it once. Each text has a record of its
 * own, so that two tabs with different texts do not replace each other's ids. [ID-6]
 */
export function sendIds(person: string, key: string, text: string): {message: string; session: string} {
  const now = Date.now()
  const {kept, dropped} = sortedOut([...recordsOf(person).values()], now)
  for (const record of dropped) drop(nameOf(person, record))
  const known = recordFor(kept, key, text)
  const record = known ?? {key, text, message: newEventId(), session: newSessionId(), at: now}
  const name = nameOf(person, record)
  inUse.set(name, record)
  if (!known) local.write(name, JSON.stringify(record))
  return record
}

/** Deletes the ids of a text once its outcome is known. The same words are then a new message. */
export function forgetSendIds(person: string, key: string, text: string): void {
  dropWhere(person, record => record.key === key && record.text === text)
}

/** Deletes the ids of a conversation that was erased: they are a copy of what was typed. [RET-2] */
export function forgetSendIdsIn(person: string, session: string): void {
  dropWhere(person, record => record.key === session || record.session === session)
}

/** Deletes the ids of texts whose messages have arrived in a conversation, and returns these texts. */
export function forgetArrived(person: string, messages: ReadonlySet<string>): {key: string; text: string}[] {
  return dropWhere(person, record => messages.has(record.message))
}

export function forgetSendIdsOf(person: string): void {
  for (const name of namesOf(person)) drop(name)
}

function dropWhere(person: string, isMeant: (record: SendRecord) => boolean): SendRecord[] {
  const meant = [...recordsOf(person)].filter(([, record]) => isMeant(record))
  for (const [name] of meant) drop(name)
  return meant.map(([, record]) => record)
}

/** All records of a person by their name in the storage. A value that cannot be read is deleted. */
function recordsOf(person: string): Map<string, SendRecord> {
  const records = new Map<string, SendRecord>()
  for (const name of namesOf(person)) {
    const record = inUse.get(name) ?? parsed(local.read(name))
    if (record) records.set(name, record)
    else drop(name)
  }
  return records
}

function parsed(stored: string | null): SendRecord | undefined {
  try {
    return sendRecordSchema.parse(JSON.parse(stored ?? ''))
  } catch {
    return undefined
  }
}

function namesOf(person: string): string[] {
  return [...inUse.keys(), ...local.keys()].filter(name => name.startsWith(prefixOf(person)))
}

function drop(name: string): void {
  inUse.delete(name)
  local.remove(name)
}

function prefixOf(person: string): string {
  return `send-ids:${person}:`
}

function nameOf(person: string, {key, message}: SendRecord): string {
  return `${prefixOf(person)}${key}:${message}`
}
