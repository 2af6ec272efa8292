import {EventSourceParserStream} from 'eventsource-parser/stream'
import {HoldfastError} from '../protocol/errors.ts'

export type ServerSentEvent = {id?: string | undefined; data: string}

/**
 * Parses the events of a response. Fails after `silenceMs` without a byte, because a dead connection reports no error.
 */
export function eventsOf(
  response: Response,
  {silenceMs, signal, what}: {silenceMs: number; signal: AbortSignal; what: string},
): ReadableStream<ServerSentEvent> {
  const type = response.headers.get('content-type') ?? ''
  // HTML or JSON comes from a proxy or a login portal. A missing type is accepted.
  if (!response.body || /html|json/.test(type)) {
    response.body?.cancel().catch(() => undefined)
    throw new HoldfastError('offline', `${what}: expected an event stream, got ${type || 'nothing'}`)
  }
  return response.body
    .pipeThrough(breakOnSilence(silenceMs, signal), {signal})
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(new EventSourceParserStream())
}

function breakOnSilence(ms: number, signal: AbortSignal): TransformStream<Uint8Array, Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const arm = (out: TransformStreamDefaultController) => {
    clearTimeout(timer)
    timer = setTimeout(
      () =>
        out.error(new HoldfastError('offline', 'the live connection sent nothing in time', {details: {silentMs: ms}})),
      ms,
    )
  }
  // An armed timer would keep a finished process alive.
  signal.addEventListener('abort', () => clearTimeout(timer), {once: true})
  return new TransformStream({
    start: arm,
    transform: (chunk, out) => {
      arm(out)
      out.enqueue(chunk)
    },
    flush: () => clearTimeout(timer),
  })
}
