import {tellListeners} from '../protocol/tell-listeners.ts'
import {channelNames} from './locks.ts'

/**
 * Broadcasts frames to listeners in all tabs. Delivery is best-effort: a frame is a hint to read again or a token to
 * display, never the record.
 */
export interface Feed {
  publish(topic: string, frame: unknown): void
  listen<Frame>(topic: string, listener: (frame: Frame) => void): () => void
  /** Closes all channels and keeps the listeners. Required before a page enters the back/forward cache. */
  pause(): void
  resume(): void
  close(): void
}

interface Topic {
  channel: BroadcastChannel
  listeners: Set<(frame: never) => void>
  retirement?: ReturnType<typeof setTimeout>
}

/** Milliseconds until an unused channel is closed. A burst of frames, such as a model's tokens, shares one channel. */
const idleMs = 5_000

/**
 * Publishes and receives the frames of the database `name`, with one channel per topic.
 *
 * @example
 * const feed = openFeed('desk')
 * const stop = feed.listen<{seq: number}>('ses_1', ({seq}) => console.log(seq))
 * feed.publish('ses_1', {seq: 7})
 */
export function openFeed(name: string): Feed {
  const topics = new Map<string, Topic>()

  function open(topic: string): Topic {
    const known = topics.get(topic)
    if (known) return known
    const opened: Topic = {channel: new BroadcastChannel(channelNames.feed(name, topic)), listeners: new Set()}
    hear(opened)
    topics.set(topic, opened)
    return opened
  }

  function hear(topic: Topic): void {
    topic.channel.onmessage = event => deliver(topic, event.data)
  }

  function close(topic: string): void {
    const opened = topics.get(topic)
    clearTimeout(opened?.retirement)
    opened?.channel.close()
    topics.delete(topic)
  }

  function retireWhenIdle(topic: string, opened: Topic): void {
    clearTimeout(opened.retirement)
    if (opened.listeners.size === 0) opened.retirement = setTimeout(() => close(topic), idleMs)
  }

  return {
    publish(topic, frame) {
      const opened = open(topic)
      opened.channel.postMessage(frame)
      deliver(opened, frame)
      retireWhenIdle(topic, opened)
    },
    listen(topic, listener) {
      const opened = open(topic)
      clearTimeout(opened.retirement)
      opened.listeners.add(listener)
      return () => {
        if (opened.listeners.delete(listener)) retireWhenIdle(topic, opened)
      }
    },
    pause() {
      for (const topic of topics.values()) topic.channel.close()
    },
    resume() {
      for (const topic of topics.values()) {
        topic.channel = new BroadcastChannel(topic.channel.name)
        hear(topic)
      }
    },
    close() {
      for (const topic of [...topics.keys()]) close(topic)
    },
  }
}

/** Calls the local listeners: a BroadcastChannel does not deliver to the object that posted. */
function deliver(topic: Topic, frame: unknown): void {
  tellListeners(topic.listeners as Iterable<(frame: unknown) => void>, frame)
}
