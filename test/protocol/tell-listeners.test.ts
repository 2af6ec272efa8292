import {expect, test, vi} from 'vitest'
import {localFeed} from '../../runtime/device/local-feed.ts'
import {createObservable} from '../../runtime/platform/observable.ts'

test('one listener that throws silences no other, and is reported', () => {
  const report = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const heard: unknown[] = []
  const broken = () => {
    throw new Error('broken')
  }
  const live = {state: 'live', detail: ''} as const
  const feed = localFeed()
  feed.listen('connection', broken)
  feed.listen('connection', frame => void heard.push(frame))
  feed.publish('connection', live)
  const value = createObservable(0)
  value.listen(broken)
  value.listen(next => void heard.push(next))
  value.set(2)
  expect(heard).toEqual([live, 2])
  expect(report).toHaveBeenCalledTimes(2)
  report.mockRestore()
})
