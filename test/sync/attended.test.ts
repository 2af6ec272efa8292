import {expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {LiveMessage} from '../../runtime/protocol/wire.ts'
import {ConnectionLoop} from '../../runtime/sync/connection-loop.ts'
import {TokenKeeper} from '../../runtime/sync/token-keeper.ts'
import {fakeEnvironment} from '../../runtime/testing/fake-environment.ts'

/** A loop whose stream and rounds fail until `heal`. */
async function failing(error: HoldfastError) {
  const environment = fakeEnvironment({seed: 'attended'})
  let healed = false
  let rounds = 0
  let failedRounds = 0
  const live = async (onMessage: (message: LiveMessage) => void, signal: AbortSignal) => {
    if (!healed) throw error
    onMessage({type: 'hello', heads: []} as unknown as LiveMessage)
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
  }
  const loop = new ConnectionLoop({
    link: {live, setOnline: () => undefined},
    environment,
    round: async () => {
      rounds += 1
      if (healed) return
      failedRounds += 1
      throw error
    },
    onMessage: () => undefined,
    onConnection: () => undefined,
  })
  loop.start()
  loop.ask()
  await expect.poll(() => loop.state.asked).toBe('failed')
  return {
    loop,
    environment,
    rounds: () => rounds,
    failedRounds: () => failedRounds,
    heal: () => {
      healed = true
    },
  }
}

test('[SYNC-6] while a person waits, an unreachable server is asked again before the pause ends, at a bounded rate', async () => {
  const {loop, environment, heal} = await failing(new HoldfastError('offline', 'the answer has status 502'))
  expect(loop.nudge()).toBe(false)
  environment.clock.advance(6_000)
  heal()
  expect(loop.nudge()).toBe(true)
  await expect.poll(() => loop.connection.state).toBe('live')
  await loop.close()
})

test('[SYNC-6] a pause that the server asked for with Retry-After is kept although a person waits', async () => {
  const busy = new HoldfastError('offline', 'the answer has status 503', {
    details: {status: 503, retryAfterMs: 300_000},
  })
  const {loop, environment, rounds} = await failing(busy)
  const before = rounds()
  environment.clock.advance(60_000)
  expect(loop.nudge()).toBe(false)
  expect(rounds()).toBe(before)
  await loop.close()
})

test('the pause after a failed request for a token can be ended, and the reason reaches the person', async () => {
  const environment = fakeEnvironment({seed: 'keeper'})
  let requests = 0
  const keeper: TokenKeeper = new TokenKeeper({
    ...environment,
    ask: () => {
      requests += 1
      return new Promise(() => undefined)
    },
  })
  const first = keeper.get()
  keeper.set(null, 'A login page was the answer.')
  await expect(first).rejects.toMatchObject({
    code: 'offline',
    message: expect.stringContaining('A login page was the answer.'),
  })
  await expect(keeper.get()).rejects.toMatchObject({code: 'offline'})
  expect(requests).toBe(1)
  keeper.retry()
  const second = keeper.get()
  keeper.set('token')
  expect(await second).toBe('token')
  expect(requests).toBe(2)
})
