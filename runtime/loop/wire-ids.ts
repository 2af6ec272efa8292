import {canonicalJson} from '../protocol/canonical-json.ts'
import type {CallId} from '../protocol/ids.ts'
import type {ReplyPart} from '../protocol/run.ts'

type Call = Extract<ReplyPart, {type: 'call'}>

/**
 * Returns the call ids that are sent to a provider: 9 letters and digits, which every provider accepts, so empty, long
 * or duplicate ids cause no harm. If the provider attached metadata to a call, it may need its own id, which is kept if
 * it is well-formed and unique. The same calls always give the same ids. [VIEW-2]
 */
export function wireIdsOf(calls: readonly Call[]): ReadonlyMap<CallId, string> {
  const ids = new Map<CallId, string>()
  const taken = new Set<string>()
  for (const part of calls) {
    const {call, providerCall, providerMetadata} = part
    const own = providerMetadata && /^[A-Za-z0-9_-]{1,40}$/.test(providerCall) && !taken.has(providerCall)
    const id = own ? providerCall : unused(shortId(part), taken)
    taken.add(id)
    ids.set(call, id)
  }
  return ids
}

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const length = 9

/**
 * Derived from the content of the call and not from its event id: work that is kept as a branch gets new ids, but its
 * prompt must be rebuilt byte for byte. [CUS-4]
 */
function shortId({tool, providerCall, input}: Call): string {
  let rest = hash52(canonicalJson([tool, providerCall, input ?? null]))
  let id = ''
  for (let i = 0; i < length; i++) {
    id = letters[rest % letters.length] + id
    rest = Math.floor(rest / letters.length)
  }
  return id
}

/** Two FNV-1a hashes of 26 bits each. Only an even distribution is needed. */
function hash52(text: string): number {
  return fnv26(text, 0x811c9dc5) * 2 ** 26 + fnv26(text, 0x01234567)
}

function fnv26(text: string, start: number): number {
  let hash = start
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0) & 0x3ffffff
}

function unused(id: string, taken: ReadonlySet<string>): string {
  let free = id
  for (let n = 1; taken.has(free); n++) free = `${n}${id}`.slice(0, length)
  return free
}
