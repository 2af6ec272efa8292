import {afterEach, beforeEach, expect, test, vi} from 'vitest'
import {createTarget} from '../../runtime/platform/target.ts'
import {keepWorker} from '../../runtime/platform/worker-keeper.ts'

/** A worker that does nothing; a test calls its `onerror`. */
class IdleWorker {
  onerror: ((event: {message: string}) => void) | null = null
  onmessage: ((event: unknown) => void) | null = null
  postMessage = vi.fn()
  terminate = vi.fn()
}

let made: IdleWorker[] = []

function keeperOf(config: unknown) {
  const options = {name: 'desk', config, worker: () => new Worker('x.js')}
  return keepWorker(options, createTarget([]), {hear: () => undefined, lost: () => undefined, failed: () => undefined})
}

const later = (ms: number) => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  made = []
  vi.useFakeTimers()
  vi.stubGlobal('document', {baseURI: 'http://desk.test/'})
  vi.stubGlobal(
    'Worker',
    class extends IdleWorker {
      constructor() {
        super()
        made.push(this)
      }
    },
  )
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('a configuration that fails after the worker was replaced leaves the next worker alone', async () => {
  let fail: (error: Error) => void = () => undefined
  const config = new Promise((_, reject) => {
    fail = reject
  })
  const keeper = keeperOf(config)
  keeper.start()
  keeper.stop('The page was left.')
  fail(new Error('No configuration.'))
  await later(60_000)
  expect(made).toHaveLength(1)
})

test('a script whose diagnosis ends after the client was closed starts no worker', async () => {
  let answer: (response: Response) => void = () => undefined
  vi.stubGlobal('fetch', () => new Promise<Response>(resolve => (answer = resolve)))
  const keeper = keeperOf(null)
  keeper.start()
  made[0]?.onerror?.({message: ''})
  keeper.stop('This client was closed.')
  answer(new Response(null, {status: 404}))
  await later(60_000)
  expect(made).toHaveLength(1)
})
