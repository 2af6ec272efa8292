import type {LeadershipMessage} from './leadership.ts'
import {channelNames, holdLock} from './locks.ts'
import {type Silence, SilenceWatch} from './silence.ts'

/** The held lock of the database, and how it was acquired. */
export interface Ownership {
  release(): void
  /** True when it was stolen from an owner that did not answer and may still hold the files. */
  tookOver: boolean
}

export interface Line {
  owned: Promise<Ownership>
  hear(message: LeadershipMessage): void
  /** Steals the lock at once. For an owner that has closed the database in a hand-over, or that does not yield. */
  takeNow(): void
}

/**
 * Waits for the lock of the database `name`. It is granted when the owner releases it or terminates. It is stolen when the
 * owner counts as frozen because it has not answered for too long; of several waiting tabs only one steals it. `lost` is
 * called when another worker later steals the lock from this one.
 */
export function standInLine(name: string, {lost, silent}: {lost(): void; silent(silence: Silence): void}): Line {
  const watch = new SilenceWatch(performance.now())
  const queued = holdLock(channelNames.owner(name), {lost})
  let done = false
  let resolve: (ownership: Ownership) => void = () => {}
  const owned = new Promise<Ownership>(settle => {
    resolve = settle
  })

  function take(ownership: Ownership): void {
    done = true
    clearInterval(watching)
    resolve(ownership)
  }

  async function steal(tookOver: boolean): Promise<void> {
    if (done) return
    done = true
    queued.abort()
    take({release: await holdLock(channelNames.owner(name), {steal: true, lost}).granted, tookOver})
  }

  const watching = setInterval(() => {
    const silence = watch.tick(performance.now())
    silent(silence)
    if (silence.state !== 'given_up') return
    const aloneTakesOver = async (lock: unknown) => {
      if (!lock) return
      await steal(true)
      // Before another tab may take over, it must receive this worker's message that it opens the database.
      await new Promise(settle => setTimeout(settle, 1_000))
    }
    void navigator.locks.request(channelNames.takeOver(name), {ifAvailable: true}, aloneTakesOver)
  }, 1_000)
  queued.granted.then(
    release => take({release, tookOver: false}),
    () => {},
  )

  return {
    owned,
    hear(message) {
      if (['leader', 'opening', 'page', 'yielded'].includes(message.type)) watch.heard(performance.now())
    },
    takeNow: () => void steal(false),
  }
}
