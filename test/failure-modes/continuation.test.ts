import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {describe, expect, test} from 'vitest'
import {openRuntime} from '../../runtime/node.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Envelope} from '../../runtime/protocol/event.ts'
import {promptModel, scriptedModel} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {desk as deskAgent, deskTools} from '../support/desk.ts'
import {deskScenes, kindsOf} from '../support/desk-scenes.ts'

const desk = deskScenes()

const waits = promptModel(prompt =>
  prompt.at(-1)?.role === 'tool'
    ? {text: 'Refunded.'}
    : {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
)

describe('two ways to continue without a rule', () => {
  test('[CUS-2] a second runtime on the same folder is refused by name, and the first goes on', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-'))
    const open = (steps = [{text: 'Still here.'}]) =>
      openRuntime({agent: deskAgent, model: scriptedModel(steps), tools: deskTools, dataDir})
    const first = await open()
    await expect(open()).rejects.toMatchObject({code: 'database_locked', message: expect.stringContaining(dataDir)})
    const session = await first.openSession({agent: 'desk'})
    await session.send('Are you there?')
    expect((await session.settled()).entries.at(-1)).toMatchObject({text: 'Still here.'})
    await first.close()
    await rm(dataDir, {recursive: true})
  })

  test('[CUS-1] a device without custody shows the run and never advances it, and the server refuses what it would write', async () => {
    const scene = await desk.play(waits)
    await scene.session.send('Refund A17.')
    await until(scene.session, view => view.status === 'waiting_for_approval' && view.pending === 0)
    const idle = scriptedModel([])
    const phone = await scene.open(idle, {db: await desk.database()})
    await new Promise<void>(resolve => {
      phone.sessions.subscribeSessions(list => list.some(({id}) => id === scene.id) && resolve())
    })
    const there = await phone.session(scene.id)
    const view = await until(there, each => each.status === 'waiting_for_approval' && each.settled)
    expect(view).toMatchObject({custody: 'elsewhere', waitingFor: 'Another device is working on this session.'})

    const log = await desk.log(scene)
    const proposed = log.find(event => event.kind === 'operation.proposed') as Envelope
    const forged = (epoch: number): Envelope => ({
      ...proposed,
      id: env.id('event'),
      seq: null,
      device: env.id('device'),
      deviceSeq: 1,
      kind: 'run.completed',
      data: {outcome: 'finished'},
      epoch,
    })
    const link = await desk.shop.link(scene.subject)
    for (const epoch of [1, 2]) {
      const {verdicts} = await link.push(scene.id, [forged(epoch)])
      expect(verdicts).toMatchObject([{status: 'rejected', error: {code: 'stale_epoch'}}])
    }
    const [item] = await desk.inbox(scene)
    await desk.decide(item!, 'approve')
    const done = await until(there, each => each.status === 'completed')
    expect(done.entries.at(-1)).toMatchObject({type: 'reply', text: 'Refunded.'})
    expect(idle.calls).toEqual([])
    const kinds = kindsOf(await desk.log(scene))
    expect(kinds.filter(kind => kind.startsWith('run.'))).toEqual(['run.started', 'run.completed'])
    await Promise.all([phone.close(), scene.device.close()])
  })
})
