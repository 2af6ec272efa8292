import {afterEach, beforeEach, expect, test, vi} from 'vitest'
import {watchHeartbeat} from '../../runtime/platform/heartbeat.ts'

beforeEach(() => {
  vi.useFakeTimers({toFake: ['setInterval', 'clearInterval', 'performance', 'Date']})
})
afterEach(() => {
  vi.useRealTimers()
})

function watch() {
  const worker = {ping: vi.fn(), dead: vi.fn()}
  return {worker, ...watchHeartbeat(worker)}
}

test('[CUS-5] a worker that answers is left alone', () => {
  const {worker, heard, stop} = watch()
  for (let second = 0; second < 120; second += 5) {
    vi.advanceTimersByTime(5_000)
    heard()
  }
  expect(worker.dead).not.toHaveBeenCalled()
  expect(worker.ping).toHaveBeenCalled()
  stop()
})

test('[CUS-5] a worker that is silent for more than 20 s is given up', () => {
  const {worker, stop} = watch()
  vi.advanceTimersByTime(20_000)
  expect(worker.dead).not.toHaveBeenCalled()
  vi.advanceTimersByTime(5_000)
  expect(worker.dead).toHaveBeenCalledOnce()
  stop()
})

test('[CUS-5] a page that slept does not blame its worker', () => {
  const {worker, stop} = watch()
  vi.advanceTimersByTime(5_000)
  const woke = performance.now() + 3_600_000
  vi.spyOn(performance, 'now').mockReturnValue(woke)
  vi.advanceTimersByTime(5_000)
  expect(worker.dead).not.toHaveBeenCalled()
  stop()
})
