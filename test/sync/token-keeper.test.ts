import {expect, test} from 'vitest'
import {TokenKeeper} from '../../runtime/sync/token-keeper.ts'
import {fakeEnvironment} from '../../runtime/testing/fake-environment.ts'

test('[SYNC-6] a token is requested again after the pause, although the clock was set back by hours', async () => {
  const environment = fakeEnvironment({seed: 'keeper'})
  const {clock} = environment
  let requests = 0
  const keeper = new TokenKeeper({
    ...environment,
    ask: async () => {
      requests += 1
      if (requests === 1) throw new Error('the login is down')
      return 'token'
    },
  })
  await expect(keeper.get()).rejects.toMatchObject({code: 'offline'})
  clock.set(clock.now() - 5 * 3_600_000)
  await expect(keeper.get()).rejects.toMatchObject({code: 'offline'})
  expect(requests).toBe(1)
  clock.advance(60_000)
  expect(await keeper.get()).toBe('token')
})
