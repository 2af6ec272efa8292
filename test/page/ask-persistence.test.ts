import {expect, test} from 'vitest'
import type {Frames} from '../../runtime/device/runtime-service.ts'
import {askPersistence} from '../../runtime/page/ask-persistence.ts'

function asking(answer: () => Promise<boolean>) {
  const told: boolean[] = []
  let asked = 0
  let say: (sessions: Frames['sessions']) => void = () => undefined
  askPersistence({
    service: {setPersisted: async granted => void told.push(granted)},
    listen: (_topic, listener) => {
      say = listener
      return () => undefined
    },
    persist: () => {
      asked += 1
      return answer()
    },
  })
  const sessions = (pending: number) => say([{pending}] as Frames['sessions'])
  return {told, sessions, asked: () => asked}
}

test('[SYNC-5] the browser is asked to keep the data once, when something is only here, and its answer is told', async () => {
  const {told, sessions, asked} = asking(async () => false)
  sessions(0)
  expect(asked()).toBe(0)
  sessions(1)
  sessions(2)
  await expect.poll(() => told).toEqual([false])
  expect(asked()).toBe(1)
})

test('a browser that does not answer leaves it unknown', async () => {
  const {told, sessions} = asking(() => Promise.reject(new Error('not here')))
  sessions(1)
  await Promise.resolve()
  expect(told).toEqual([])
})
