import {EventSourceParserStream} from 'eventsource-parser/stream'
import {HoldfastError} from '../protocol/errors.ts'

export type ServerSentEvent = {id?: string | undefined; data: string}

/** The events of an answer; fails after so many milliseconds without a byte, since a dead connection says nothing. */
export function eventsOf(
  response: Response,
  {silenceMs, signal, what}: {silenceMs: number; signal: AbortSignal; what: string},
): ReadableStream<ServerSentEvent> {
  const type = response.headers.get('content-type') ?? ''
  // A page of a proxy or a portal. A type that was stripped may still be ours.
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
      () => out.error(new HoldfastError('offline', 'the live connection went silent', {details: {silentMs: ms}})),
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
