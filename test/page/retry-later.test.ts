import {expect, test} from 'vitest'
import {latest} from '../../runtime/page/latest.ts'
import {watchSession} from '../../runtime/page/watch-session.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'

const parts = {listen: () => () => undefined, onOwnerChange: () => () => undefined}

/** Answers after `failures` failed questions. */
function answering<Answer>(failures: number, answer: Answer, code: 'deadline' | 'unauthenticated' = 'deadline') {
  const asked: number[] = []
  const ask = async () => {
    asked.push(asked.length)
    if (asked.length <= failures) throw new HoldfastError(code, 'no answer')
    return answer
  }
  return {asked, ask}
}

test('[CUS-5] a page whose first question for a view fails asks again by itself', async () => {
  const view = {session: 'ses_1', entries: []}
  const {ask, asked} = answering(2, {revision: '1', view})
  const seen: unknown[] = []
  const stop = watchSession({...parts, service: {watch: ask} as never}, 'ses_1' as never, next => seen.push(next))
  await expect.poll(() => seen, {timeout: 60_000}).toEqual([view])
  expect(asked).toHaveLength(3)
  stop()
})

test('[CUS-5] the same for other values', async () => {
  const {ask, asked} = answering(1, [])
  const seen: unknown[] = []
  const stop = latest(parts, 'sessions', ask as never, value => seen.push(value))
  await expect.poll(() => seen, {timeout: 60_000}).toEqual([[]])
  expect(asked).toHaveLength(2)
  stop()
})
