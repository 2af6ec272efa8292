import {describe, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {DeviceId} from '../../runtime/protocol/ids.ts'
import {promptModel, said} from '../../runtime/testing.ts'
import {reads, until} from '../support/crashable-device.ts'
import {deskScenes} from '../support/desk-scenes.ts'

const desk = deskScenes()

/** Writes down what it is told first, and keeps every prompt. */
function clerk(prompts: string[]) {
  return promptModel(prompt => {
    prompts.push(JSON.stringify(prompt))
    if (prompt.at(-1)?.role === 'tool') return {text: 'Noted.'}
    return {calls: [{tool: 'saveNote', input: {text: said(prompt)[0]}}]}
  })
}

const large = promptModel(prompt =>
  prompt.at(-1)?.role === 'tool'
    ? {text: 'Refunded.'}
    : {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
)

describe('a user id used as session key', () => {
  test('[ID-3] [WRK-4] two conversations of one person share neither words nor working state, in store or prompt', async () => {
    const prompts: string[] = []
    const one = await desk.play(clerk(prompts))
    const two = await one.device.sessions.openSession({agent: 'desk'})
    await one.session.send('The kettle is broken.')
    await until(one.session, view => view.status === 'completed' && view.pending === 0)
    await two.send('The lamp is late.')
    const view = await until(two, each => each.status === 'completed' && each.pending === 0)
    expect(view.session).not.toBe(one.id)
    expect(JSON.stringify(view.entries)).not.toContain('kettle')
    expect(prompts.filter(prompt => prompt.includes('lamp') && prompt.includes('kettle'))).toEqual([])
    await reads(one.session.document('draft'), 'The kettle is broken.')
    await reads(two.document('draft'), 'The lamp is late.')
    await one.device.close()
  })

  test.each(['maya', 'shop', 'maya@shop.test'])(
    '[ID-2] %j opens no session, and the answer says what does',
    async id => {
      const scene = await desk.play(clerk([]))
      await expect(scene.device.session(id)).rejects.toMatchObject({
        code: 'bad_input',
        message: expect.stringContaining('ses_'),
      })
      await scene.device.close()
    },
  )
})

describe('authorisation taken for continuity', () => {
  test('[ID-4] knowing a session, its run and its approval opens nothing to another subject or tenant', async () => {
    const scene = await desk.play(large)
    await scene.session.send('Refund A17.')
    const {passport} = await until(scene.session, view => view.status === 'waiting_for_approval')
    const [item] = await desk.inbox(scene)
    const started = (await desk.log(scene)).find(event => event.kind === 'run.started')!
    const tokens = [
      await desk.shop.token('eve', ['clerk']),
      await desk.shop.token(scene.subject, ['approver'], 'another-shop'),
    ]
    for (const token of tokens) {
      const link = desk.shop.linkWith(async () => token)
      const device = env.id('device') as DeviceId
      const attempts = [
        link.pull(scene.id, 0),
        link.push(scene.id, [{...started, seq: null}]),
        link.claim(scene.id, {device, sawEpoch: 1}),
        link.decide(item!.approval, {verdict: 'approve', digest: item!.digest}),
      ]
      for (const outcome of await Promise.allSettled(attempts)) {
        expect(outcome).toMatchObject({status: 'rejected', reason: {code: 'not_found'}})
      }
      const headers = {authorization: `Bearer ${token}`}
      const url = `http://desk.test/v1/runs/${passport?.run}/passport`
      expect((await desk.shop.server.fetch(new Request(url, {headers}))).status).toBe(404)
    }
    expect(desk.shop.payments).toEqual([])
    await scene.device.close()
  })

  test('[APP-1] [ID-4] the same person in the same session decides nothing with a token that lost its role', async () => {
    const scene = await desk.play(large)
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_approval')
    const [item] = await desk.inbox(scene)
    const decision = {verdict: 'approve', digest: item!.digest} as const
    const own = await desk.shop.link(scene.subject)
    await expect(own.decide(item!.approval, decision)).rejects.toMatchObject({code: 'forbidden'})
    const demoted = await desk.shop.link('theo', {roles: ['clerk']})
    await expect(demoted.decide(item!.approval, decision)).rejects.toMatchObject({code: 'not_found'})
    expect(await demoted.inbox('all')).toEqual([])
    expect(await desk.inbox(scene)).toHaveLength(1)
    expect(desk.shop.payments).toEqual([])
    await scene.device.close()
  })
})
