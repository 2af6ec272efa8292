import {EventSourceParserStream} from 'eventsource-parser/stream'

/** Reads server-sent events one by one; comments come as `:text`. */
export function readStream(response: Response) {
  if (!response.body) throw new Error('no body')
  const comments: string[] = []
  const reader = response.body
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream({onComment: comment => comments.push(comment)}))
    .getReader()
  return {
    comments,
    /** The next event's data, or null at the end. */
    next: async <T>(): Promise<T | null> => {
      const {done, value} = await reader.read()
      return done ? null : (JSON.parse(value.data) as T)
    },
    rest: async <T>(): Promise<T[]> => {
      const all: T[] = []
      for (;;) {
        const {done, value} = await reader.read()
        if (done) return all
        all.push(JSON.parse(value.data) as T)
      }
    },
    cancel: () => reader.cancel(),
  }
}
