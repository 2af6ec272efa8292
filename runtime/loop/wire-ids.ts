import type {CallId} from '../protocol/ids.ts'
import type {ReplyPart} from '../protocol/run.ts'

type Call = Extract<ReplyPart, {type: 'call'}>

/**
 * The id under which a provider is shown each call: ours, 9 letters and digits, which every provider takes, so that ids
 * that are empty, long or given twice do no harm. A provider that attached something to the call may look for its own
 * id, so that one stays as long as it is well-formed and stands there once. Same calls, same ids. [VIEW-2]
 */
export function wireIdsOf(calls: readonly Call[]): ReadonlyMap<CallId, string> {
  const ids = new Map<CallId, string>()
  const taken = new Set<string>()
  for (const {call, providerCall, providerMetadata} of calls) {
    const own = providerMetadata && /^[A-Za-z0-9_-]{1,40}$/.test(providerCall) && !taken.has(providerCall)
    const id = own ? providerCall : unused(shortId(call), taken)
    taken.add(id)
    ids.set(call, id)
  }
  return ids
}

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const length = 9

/** From the random end of the call's UUID: 52 bits. */
function shortId(call: CallId): string {
  let rest = Number.parseInt(call.replaceAll('-', '').slice(-13), 16) || 0
  let id = ''
  for (let i = 0; i < length; i++) {
    id = letters[rest % letters.length] + id
    rest = Math.floor(rest / letters.length)
  }
  return id
}

function unused(id: string, taken: ReadonlySet<string>): string {
  let free = id
  for (let n = 1; taken.has(free); n++) free = `${n}${id}`.slice(0, length)
  return free
}
