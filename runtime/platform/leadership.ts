import {channelNames, holdLock, whenReleased} from './locks.ts'

/**
 * One worker a tab; the one that holds the database's lock leads and serves the others.
 *
 *   follower                         leader
 *      │── who ──────────────────────▶ │        every 250 ms while it knows no leader
 *      │◀───────────── leader {id} ──  │        also announced when it starts to lead
 *      │── join {leader, follower} ──▶ │        opens the pair's own channel and serves it
 *      │◀── joined {leader,follower} ──│        from here on: calls over that channel
 *
 * Every worker holds a lock `alive:<its id>` for as long as it lives; queueing behind it tells the other side of a
 * link about its death at once, however it died. A leader leads until it dies, so its id names its term. [CUS-2]
 */
type Message =
  | {type: 'who'}
  | {type: 'leader'; leader: string}
  | {type: 'join'; leader: string; follower: string}
  | {type: 'joined'; leader: string; follower: string}

/** A channel that only one leader and one follower know, until one of them dies. */
export interface Link {
  channel: BroadcastChannel
  close(): void
}

export interface Leadership {
  /** Announces this worker as leader and serves every follower that joins. */
  lead(serve: (link: Link) => () => void): void
  close(): void
}

const askMs = 250

/** Follows whoever leads `name`, through `follow`, until this worker leads itself. */
export function openLeadership(name: string, self: string, follow: (link: Link) => () => void): Leadership {
  const channel = new BroadcastChannel(channelNames.leadership(name))
  const links = new Map<string, Link>()
  let serve: ((link: Link) => () => void) | undefined
  const post = (message: Message) => channel.postMessage(message)

  function link(peer: string, leader: string, follower: string, attach: (link: Link) => () => void): void {
    if (links.has(peer)) return
    const pair: Link = {channel: new BroadcastChannel(channelNames.link(name, leader, follower)), close}
    const detach = attach(pair)
    const unwatch = whenReleased(channelNames.alive(name, peer), close)
    links.set(peer, pair)

    function close(): void {
      if (links.get(peer) !== pair) return
      links.delete(peer)
      unwatch()
      detach()
      pair.channel.close()
    }
  }

  channel.onmessage = (event: MessageEvent<Message>) => {
    const message = event.data
    switch (message.type) {
      case 'who':
        if (serve) post({type: 'leader', leader: self})
        return
      case 'leader':
        if (!serve && !links.has(message.leader)) post({type: 'join', leader: message.leader, follower: self})
        return
      case 'join':
        if (!serve || message.leader !== self) return
        link(message.follower, self, message.follower, serve)
        post({type: 'joined', leader: self, follower: message.follower})
        return
      case 'joined':
        if (!serve && message.follower === self) link(message.leader, message.leader, self, follow)
    }
  }

  const asking = setInterval(() => {
    if (!serve && links.size === 0) post({type: 'who'})
  }, askMs)
  post({type: 'who'})

  function closeLinks(): void {
    for (const pair of [...links.values()]) pair.close()
  }

  return {
    lead(serveFollower) {
      clearInterval(asking)
      closeLinks()
      serve = serveFollower
      post({type: 'leader', leader: self})
    },
    close() {
      clearInterval(asking)
      closeLinks()
      channel.close()
    },
  }
}

/** Takes the lock that tells others that the worker `self` lives; it is let go only by dying. */
export function declareAlive(name: string, self: string): Promise<() => void> {
  return holdLock(channelNames.alive(name, self))
}
