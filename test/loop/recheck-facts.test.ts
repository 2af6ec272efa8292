import {describe, expect, test} from 'vitest'
import {recheckFacts} from '../../runtime/loop/recheck-facts.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {FactReading} from '../../runtime/protocol/fact.ts'
import {fold, repliedEvents, scribe} from '../support/events.ts'

const reading = (version: string, source: FactReading['source'] = 'server'): FactReading => ({
  key: 'order/A17',
  value: {},
  version,
  source,
  ageMs: 0,
})

/** A reply with two refunds, resting on version 1 of the order; the first may be proposed already. */
function replied(...kinds: 'operation.proposed'[]) {
  const desk = scribe()
  const before = [...repliedEvents(desk), desk.event('tool.returned')]
  return {desk, state: fold([...before, ...kinds.map(kind => desk.event(kind))])}
}

describe('[RUN-8] what is not proposed yet', () => {
  test('is overtaken when the server has another version of what it rests on', async () => {
    const {desk, state} = replied('operation.proposed')
    const {calls, changed} = await recheckFacts(state, async () => reading('2'))
    expect(changed).toEqual(['order/A17'])
    expect(calls.map(({id}) => id)).toEqual([desk.names.second])
  })

  test.each([
    ['the version is the same', async () => reading('1')],
    ['only a copy answers', async () => reading('2', 'replica')],
    [
      'nobody answers',
      async () => {
        throw new HoldfastError('offline', 'no')
      },
    ],
  ])('goes on when %s', async (_, read) => {
    expect(await recheckFacts(replied().state, read)).toEqual({calls: [], changed: []})
  })

  test('is overtaken when the fact is gone, and another fault is not swallowed', async () => {
    expect((await recheckFacts(replied().state, async () => null)).changed).toEqual(['order/A17'])
    const fault = recheckFacts(replied().state, async () => {
      throw new HoldfastError('database_damaged', 'no')
    })
    await expect(fault).rejects.toMatchObject({code: 'database_damaged'})
  })
})
