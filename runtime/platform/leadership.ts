import type {Opening} from '../protocol/opening.ts'
import type {StorageState} from '../protocol/recovery.ts'
import type {Build} from './build.ts'
import type {LastOwner} from './last-owner.ts'
import {channelNames, holdLock, whenReleased} from './locks.ts'

/**
 * Leader election among the workers of all tabs, one per tab. The holder of the database's lock leads; the others follow.
 *
 *   follower                         leader
 *      │── who ──────────────────────▶ │        every 250 ms while it knows no leader, every second while it does
 *      │◀───────────── leader {id} ──  │        also announced when it starts to lead
 *      │◀──────────── opening {id} ──  │        while it holds the lock and does not lead yet
 *      │── join {leader, follower} ──▶ │        opens the pair's own channel and serves it
 *      │◀── joined {leader,follower} ──│        from here on: calls over that channel
 *      │── succeed {build} ──────────▶ │        a newer build requests a hand-over
 *      │◀─────────── yielded {to} ──── │        the database is closed; the newer worker steals the lock
 *      │◀─────────── rescued {…} ───── │        its engine stopped; data for the next owner
 *
 * The leader's page also answers `who`, so that a busy worker does not count as frozen. Every worker holds the lock
 * `alive:<its id>` until it terminates. The other side of a link requests that lock and so detects the termination. [CUS-2]
 */
export type LeadershipMessage =
  | {type: 'who'; worker: string; build: Build}
  | {type: 'leader'; leader: string; build: Build; storage: StorageState | null; deposed: readonly string[]}
  | {type: 'opening'; worker: string; opening: Opening}
  | {type: 'page'; worker: string}
  | {type: 'join'; leader: string; follower: string}
  | {type: 'joined'; leader: string; follower: string}
  | {type: 'succeed'; leader: string; worker: string; build: Build}
  | {type: 'yielded'; leader: string; to: string}
  | {type: 'rescued'; leader: string; lastOwner: LastOwner}

/** A leader as its followers know it. */
export type LeaderInfo = {id: string; build: Build; storage: StorageState | null}

/** The private channel of one leader and one follower. It is closed when either of them terminates. */
export interface Link {
  channel: BroadcastChannel
  /** Null on the leader's own side. */
  leader: LeaderInfo | null
  close(): void
}

export interface LeadershipOptions {
  name: string
  /** This worker's id. */
  self: string
  build: Build
  /** Called for each new leader. Returns a function that stops following it. */
  follow(link: Link): () => void
  /** Called with each message after it has been processed here. */
  hear(message: LeadershipMessage): void
}

export interface Leadership {
  /** Announces that this worker holds the lock and is opening the database. */
  opening(opening: Opening): void
  /** Announces this worker as leader and serves every follower that joins. */
  lead(storage: StorageState | null, serve: (link: Link) => () => void): void
  /** Ignores all further messages of worker `id`, which has lost the database and may resume later. */
  depose(id: string): void
  /** Stops leading or opening. This worker follows the next leader. */
  follow(): void
  post(message: LeadershipMessage): void
  /** True while this worker follows a leader. */
  linked(): boolean
  close(): void
}

const askMs = 250
const checkMs = 1_000

type State =
  | {is: 'follower'}
  | {is: 'opening'; opening: Opening}
  | {is: 'leader'; storage: StorageState | null; serve: (link: Link) => () => void}

/** Joins the leader election of `name` as a follower. */
export function openLeadership({name, self, build, follow, hear}: LeadershipOptions): Leadership {
  const channel = new BroadcastChannel(channelNames.leadership(name))
  const links = new Map<string, Link>()
  let state: State = {is: 'follower'}
  let known: LeaderInfo | null = null
  const deposed = new Set<string>()
  const post = (message: LeadershipMessage) => channel.postMessage(message)
  const who = () => post({type: 'who', worker: self, build})

  function link(peer: string, ends: {leader: string; follower: string}, attach: (link: Link) => () => void): void {
    if (links.has(peer)) return
    const leader = known?.id === peer ? known : null
    const pair: Link = {channel: new BroadcastChannel(channelNames.link(name, ends)), leader, close}
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

  function answer(): void {
    if (state.is === 'leader') {
      post({type: 'leader', leader: self, build, storage: state.storage, deposed: [...deposed]})
    }
    if (state.is === 'opening') post({type: 'opening', worker: self, opening: state.opening})
  }

  function act(message: LeadershipMessage): void {
    switch (message.type) {
      case 'who':
        answer()
        return
      case 'leader':
        if (state.is !== 'follower') return
        for (const id of message.deposed) depose(id)
        for (const [peer, pair] of links) if (peer !== message.leader) pair.close()
        known = {id: message.leader, build: message.build, storage: message.storage}
        if (!links.has(message.leader)) post({type: 'join', leader: message.leader, follower: self})
        return
      case 'join':
        if (state.is !== 'leader' || message.leader !== self) return
        link(message.follower, message, state.serve)
        post({type: 'joined', leader: self, follower: message.follower})
        return
      case 'joined':
        if (state.is === 'follower' && message.follower === self) link(message.leader, message, follow)
        return
      case 'yielded':
        links.get(message.leader)?.close()
    }
  }

  function depose(id: string): void {
    deposed.add(id)
    links.get(id)?.close()
  }

  channel.onmessage = ({data: message}: MessageEvent<LeadershipMessage>) => {
    if (deposed.has(speaker(message))) return
    act(message)
    hear(message)
  }

  let sinceAsked = 0
  const asking = setInterval(() => {
    sinceAsked += askMs
    if (state.is !== 'follower' || (links.size > 0 && sinceAsked < checkMs)) return
    sinceAsked = 0
    who()
  }, askMs)
  who()

  function unlink(): void {
    for (const pair of [...links.values()]) pair.close()
  }

  return {
    opening(opening) {
      if (state.is !== 'opening') unlink()
      state = {is: 'opening', opening}
      answer()
    },
    lead(storage, serve) {
      unlink()
      state = {is: 'leader', storage, serve}
      answer()
    },
    follow() {
      unlink()
      known = null
      state = {is: 'follower'}
      who()
    },
    depose,
    post,
    linked: () => state.is === 'follower' && links.size > 0,
    close() {
      clearInterval(asking)
      unlink()
      channel.close()
    },
  }
}

function speaker(message: LeadershipMessage): string {
  switch (message.type) {
    case 'who':
    case 'opening':
    case 'page':
    case 'succeed':
      return message.worker
    case 'join':
      return message.follower
    default:
      return message.leader
  }
}

/** Acquires the lock that marks the worker `self` as alive. It is released only by termination. */
export function declareAlive(name: string, self: string): Promise<() => void> {
  return holdLock(channelNames.alive(name, self)).granted
}
