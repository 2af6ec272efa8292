import {describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {promptModel, said} from '../../runtime/testing.ts'
import type {Store} from '../../sync-server/index.ts'
import {until} from '../support/crashable-device.ts'
import {deskScenes, kindsOf, ofKind} from '../support/desk-scenes.ts'

/** The server's process dies once: after the money has moved, before the receipt is written. */
const death = {armed: false, dead: false}
function mortal(store: Store): Store {
  const locked: Store['sessions']['locked'] = (key, work) => {
    if (death.dead) return Promise.reject(new Error('killed'))
    return store.sessions.locked(key, async session =>
      work({
        ...session,
        append: async (sealed, rest) => {
          if (death.armed && sealed.some(({event}) => event.kind === 'operation.executed')) {
            death.dead = true
            throw new Error('killed')
          }
          return session.append(sealed, rest)
        },
      }),
    )
  }
  return {...store, sessions: {...store.sessions, locked}}
}

const desk = deskScenes({store: mortal, onFault: () => undefined})

/** Asks for one small refund; what comes after it fails as often as told. */
function clerk(failures: {left: number}, prompts: string[] = []) {
  return promptModel(prompt => {
    prompts.push(JSON.stringify(prompt))
    if (prompt.at(-1)?.role !== 'tool' && !said(prompt).includes('And now?')) {
      return {calls: [{tool: 'refundOrder', input: {orderId: 'B22', cents: 3200}}]}
    }
    if (failures.left > 0) {
      failures.left -= 1
      return {error: new HoldfastError('model_failed', 'overloaded', {details: {retryable: true}})}
    }
    return {text: 'It is refunded.'}
  })
}

const paid = () => desk.shop.payments.length

describe('retry or rewind taken for undo', () => {
  test('[RUN-5] [OP-6] a retry after an executed operation is a new attempt that repeats nothing and keeps the receipt', async () => {
    const before = paid()
    const prompts: string[] = []
    const scene = await desk.play(clerk({left: 3}, prompts))
    await scene.session.send('Refund B22.')
    const failed = await until(scene.session, view => view.status === 'failed_retryable' && view.pending === 0)
    expect(failed.passport?.may.retry.legal).toBe(true)
    expect(paid()).toBe(before + 1)
    await scene.session.retry()
    const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
    expect(view.passport).toMatchObject({run: failed.passport?.run, attempt: 2})
    expect(paid()).toBe(before + 1)
    const log = await desk.log(scene)
    expect(ofKind(log, 'operation.proposed')).toHaveLength(1)
    expect(ofKind(log, 'operation.executed')).toHaveLength(1)
    expect(view.entries.find(entry => entry.type === 'tool')).toMatchObject({operation: {status: 'executed'}})
    expect(prompts.at(-1)).toContain(`paid-${paid()}`)
    await scene.device.close()
  })

  test('[RUN-6] [OP-6] a fork from before an executed operation undoes none of it and inherits none of it', async () => {
    const before = paid()
    const scene = await desk.play(clerk({left: 0}))
    await scene.session.send('Refund B22.')
    const done = await until(scene.session, view => view.status === 'completed' && view.pending === 0)
    const message = ofKind(await desk.log(scene), 'message.posted')[0]
    const branch = await scene.session.fork({after: message?.seq ?? 0})
    expect(done.passport?.may.fork.why).toContain('undoes no operation')
    await branch.send('And now?')
    const view = await until(branch, each => each.status === 'completed' && each.pending === 0)
    expect(view.passport?.operations).toEqual([])
    expect(view.entries.map(entry => entry.type)).toEqual(['message', 'notice', 'message', 'reply'])
    expect(paid()).toBe(before + 1)
    await scene.device.close()
  })
})

describe('a retry as the only way to recover a write', () => {
  test('[OP-4] [OP-3] killed between the effect and its receipt, the next process asks what happened and never pays again', async () => {
    const before = paid()
    const scene = await desk.play(clerk({left: 0}))
    death.armed = true
    await scene.session.send('Refund B22.')
    await expect.poll(() => death.dead).toBe(true)
    expect(paid()).toBe(before + 1)
    await desk.shop.restart()
    const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
    expect(paid()).toBe(before + 1)
    const about = kindsOf(await desk.log(scene)).filter(kind => kind.startsWith('operation.'))
    expect(about).toEqual([
      'operation.proposed',
      'operation.authorised',
      'operation.started',
      'operation.uncertain',
      'operation.executed',
    ])
    expect(view.entries.find(entry => entry.type === 'tool')).toMatchObject({
      result: {outcome: 'ok', output: {receipt: 'found'}},
    })
    await scene.device.close()
  })
})
