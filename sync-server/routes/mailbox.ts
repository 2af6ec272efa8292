/** A queue that holds only the latest message of each key. */
export type Mailbox<T> = {
  post(key: string, message: T): void
  /**
   * Removes and returns all messages, waiting up to `ms` for the first. Empty after the timeout, 'closed' once
   * closed.
   */
  take(ms: number): Promise<T[] | 'closed'>
  close(): void
}

/** Maximum delay of a timer in ms. Node fires a longer one immediately. */
const longestTimerMs = 2 ** 31 - 1

export function mailbox<T>(): Mailbox<T> {
  const waiting = new Map<string, T>()
  let closed = false
  let wake = () => {}

  const wait = (ms: number) =>
    new Promise<void>(resolve => {
      const timer = setTimeout(resolve, Math.min(ms, longestTimerMs))
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  return {
    post: (key, message) => {
      if (closed) return
      waiting.set(key, message)
      wake()
    },
    take: async ms => {
      if (!closed && waiting.size === 0) await wait(ms)
      if (closed) return 'closed'
      const messages = [...waiting.values()]
      waiting.clear()
      return messages
    },
    close: () => {
      closed = true
      wake()
    },
  }
}
