import {describe, expect, test} from 'vitest'
import {createTarget} from '../../runtime/platform/target.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'

const gone = () => Promise.reject(new HoldfastError('peer_gone', 'gone'))
const answer = (value: string) => () => Promise.resolve(value)

describe('where calls go while leaders change', () => {
  test('[CUS-2] a call made before there is a leader waits for one', async () => {
    const target = createTarget([])
    const call = target.call('read', [])
    target.set(answer('first'))
    expect(await call).toBe('first')
  })

  test('[CUS-2] a call that may run twice is sent again to the next leader', async () => {
    const target = createTarget(['append'])
    const dying = () => {
      target.unset(dying)
      return gone()
    }
    target.set(dying)
    const call = target.call('append', [])
    await Promise.resolve()
    target.set(answer('second'))
    expect(await call).toBe('second')
  })

  test('[CUS-5] a call that may not run twice is told', async () => {
    const target = createTarget(['append'])
    target.set(gone)
    await expect(target.call('send', [])).rejects.toMatchObject({code: 'peer_gone'})
  })

  test('[CUS-5] a worker that reports a lost leader is still there to be asked again', async () => {
    const target = createTarget(['append'])
    let calls = 0
    target.set(() => (++calls === 1 ? gone() : Promise.resolve(calls)))
    expect(await target.call('append', [])).toBe(2)
  })

  test('[CUS-5] a refusal is no death, and is never sent again', async () => {
    const target = createTarget(['append'])
    let calls = 0
    target.set(() => {
      calls++
      return Promise.reject(new HoldfastError('refused', 'no'))
    })
    await expect(target.call('append', [])).rejects.toMatchObject({code: 'refused'})
    expect(calls).toBe(1)
  })

  test('[CUS-5] a failed open rejects who waits now, and for good only if said so', async () => {
    const target = createTarget([])
    const error = new HoldfastError('storage_full', 'no room')
    const waiting = target.call('read', [])
    target.fail(error)
    await expect(waiting).rejects.toBe(error)
    const later = target.call('read', [])
    target.fail(error, {forGood: true})
    await expect(later).rejects.toBe(error)
    await expect(target.call('read', [])).rejects.toBe(error)
    target.set(answer('after all'))
    expect(await target.call('read', [])).toBe('after all')
  })

  test('a late farewell of an old leader does not unseat the new one', async () => {
    const target = createTarget([])
    const old = answer('old')
    target.set(old)
    target.set(answer('new'))
    target.unset(old)
    expect(await target.call('read', [])).toBe('new')
  })
})
