import type {Reply} from './model-port.ts'

/** Calls over the bound are answered with the reason instead of being run. [BUD-1] */
export function withinCallLimit(reply: Reply, limit: number): Reply {
  let calls = 0
  const content = reply.content.map(part => {
    if (part.type !== 'call') return part
    calls += 1
    return calls <= limit
      ? part
      : {...part, fault: `At most ${limit} calls are run in one step; this was call ${calls}.`}
  })
  return {...reply, content}
}
