import {expect, test} from 'vitest'
import {streamCounter} from '../../sync-server/live-streams.ts'
import type {Principal} from '../../sync-server/principal.ts'

const who = (subject: string, tenant = 'shop') => ({tenant, subject}) as unknown as Principal

test('[SYNC-6] live streams of a subject and of a tenant are limited, each refused with whose limit it is and when to come again', () => {
  const enter = streamCounter({subject: 2, tenant: 3})
  const leave = enter(who('ana'))
  enter(who('ana'))
  expect(() => enter(who('ana'))).toThrow('This subject has 2 live streams open, which is the limit')
  enter(who('ben'))
  try {
    enter(who('cleo'))
    expect.unreachable()
  } catch (error) {
    expect(error).toMatchObject({code: 'rate_limited', details: {of: 'tenant', limit: 3, waitMs: 30_000}})
  }
  leave()
  leave()
  const again = enter(who('cleo'))
  expect(() => enter(who('ana'))).toThrow('This tenant')
  again()
  enter(who('ana'))
  enter(who('ana', 'other'))
})
