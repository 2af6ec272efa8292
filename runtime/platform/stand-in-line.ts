import type {LeadershipMessage} from './leadership.ts'
import {channelNames, holdLock} from './locks.ts'
import {type Silence, SilenceWatch} from './silence.ts'

/** The database's lock, and how it was come by. */
export interface Ownership {
  release(): void
  /** True when it was taken from an owner that did not answer, and may still hold the files. */
  tookOver: boolean
}

export interface Line {
  owned: Promise<Ownership>
  hear(message: LeadershipMessage): void
  /** Takes the lock at once, from an owner that has closed the database for us or never will. */
  takeNow(): void
}

/**
 * Waits for the lock of the database `name`: until its owner lets it go or dies, or until the owner has not answered for
 * so long that it is taken for frozen. Of several tabs that find the owner frozen, one takes over. `lost` is called when
 * the lock is taken away from this worker later.
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
      // The others hear that this worker opens the database before the next of them may take over.
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
