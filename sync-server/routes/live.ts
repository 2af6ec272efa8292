import {type SSEStreamingApi, streamSSE} from 'hono/streaming'
import type {Environment} from '../../runtime/protocol/environment.ts'
import {type LiveMessage, liveMessageSchema} from '../../runtime/protocol/wire.ts'
import type {Bus, Poke} from '../bus.ts'
import {type StreamLimits, streamCounter} from '../live-streams.ts'
import type {Principal} from '../principal.ts'
import type {App} from './http.ts'
import {type Mailbox, mailbox} from './mailbox.ts'
import {eventStream, handle, padding, route, unbuffered} from './route.ts'

const listen = route({
  name: 'listen',
  method: 'GET',
  path: '/v1/live',
  summary: 'Pokes that something moved, one stream a device, until the token expires.',
  answers: {
    200: eventStream(
      'Each event is named by its type. The first is `hello`; whoever missed some pulls, for a poke is never the truth.',
      liveMessageSchema,
    ),
  },
})

export type LiveOptions = {
  bus: Bus
  environment: Environment
  heartbeatMs: number
  closing: AbortSignal
  streams: StreamLimits
}

/**
 * Registers the live stream, one per device. It subscribes before it sends `hello`, so no commit after the device's
 * first pull is missed. It ends when the token expires, because the caller is not authenticated again during the
 * stream. [SYNC-3]
 */
export function liveRoutes(app: App, options: LiveOptions): void {
  const enter = streamCounter(options.streams)
  handle(app, listen, ({principal}, c) => {
    const leave = enter(principal)
    const stream = streamSSE(c, async stream => {
      const box = mailbox<LiveMessage>()
      const unsubscribe = options.bus.subscribe(poke => {
        const message = messageFor(principal, poke)
        if (message) box.post(keyOf(message), message)
      })
      const stop = () => box.close()
      stream.onAbort(stop)
      options.closing.addEventListener('abort', stop)
      if (options.closing.aborted) stop()
      try {
        await stream.write(padding)
        await send(stream, {type: 'hello'})
        await deliver(stream, box, principal, options)
      } finally {
        leave()
        unsubscribe()
        options.closing.removeEventListener('abort', stop)
      }
    })
    return unbuffered(stream)
  })
}

async function deliver(
  stream: SSEStreamingApi,
  box: Mailbox<LiveMessage>,
  principal: Principal,
  {environment, heartbeatMs}: LiveOptions,
): Promise<void> {
  for (;;) {
    const left = principal.expiresAt - environment.now()
    if (left <= 0) return send(stream, {type: 'expired'})
    const messages = await box.take(Math.min(heartbeatMs, left))
    if (messages === 'closed') return
    for (const message of messages) await send(stream, message)
    if (messages.some(({type}) => type === 'expired')) return
    if (messages.length === 0) await stream.write(': still here\n\n')
  }
}

async function send(stream: SSEStreamingApi, message: LiveMessage): Promise<void> {
  await stream.writeSSE({event: message.type, data: JSON.stringify(message)})
}

/** Returns the message that this principal may receive for a poke, or null. [ID-4] */
function messageFor({tenant, subject, roles}: Principal, poke: Poke): LiveMessage | null {
  // As on a new stream: `hello` makes the device pull everything.
  if (poke.type === 'missed') return {type: 'hello'}
  if (poke.tenant !== tenant) return null
  switch (poke.type) {
    case 'head':
      return poke.subject === subject ? {type: 'head', session: poke.session, head: poke.head} : null
    case 'inbox':
      return ('role' in poke ? roles.includes(poke.role) : poke.subject === subject) ? {type: 'inbox'} : null
    case 'agents':
      return {type: 'agents'}
    case 'memory':
      return poke.subject === subject ? {type: 'memory'} : null
    case 'erased':
      return poke.subject === subject ? {type: 'erased'} : null
    // The device then authenticates again and is refused.
    case 'revoked':
      return poke.subject === subject ? {type: 'expired'} : null
    case 'fact':
      return poke.subject === undefined || poke.subject === subject ? {type: 'fact', key: poke.key} : null
  }
}

/**
 * Key under which a later message replaces an earlier one, so that a slow reader costs at most one message per key.
 * [SYNC-6]
 */
function keyOf(message: LiveMessage): string {
  switch (message.type) {
    case 'head':
      return message.session
    case 'fact':
      return `fact ${message.key}`
    default:
      return message.type
  }
}
