import {describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {promptModel} from '../../runtime/testing.ts'
import {reads, until} from '../support/crashable-device.ts'
import {deskScenes, ofKind} from '../support/desk-scenes.ts'
import {createGate} from '../support/gate.ts'

const desk = deskScenes()
const model = promptModel(() => ({text: 'Yes.'}))

describe('sync', () => {
  test('[WRK-2] [SYNC-4] a server that restarts while two devices edit a text doubles nothing in it', async () => {
    const scene = await desk.play(model)
    await until(scene.session, view => view.pending === 0)
    const phone = await scene.open(model, {db: await desk.database()})
    await new Promise<void>(resolve => {
      phone.sessions.subscribeSessions(list => list.some(({id}) => id === scene.id) && resolve())
    })
    const [here, there] = [scene.session.document('draft'), (await phone.session(scene.id)).document('draft')]
    await here.edit('Dear Lena,')
    await reads(there, 'Dear Lena,')
    await desk.shop.restart()
    await there.edit('Dear Lena, sorry.')
    await reads(here, 'Dear Lena, sorry.')
    await desk.shop.restart()
    await here.edit('Dear Lena, sorry. Bye.')
    await reads(there, 'Dear Lena, sorry. Bye.')
    await until(await phone.session(scene.id), view => view.pending === 0)
    expect(ofKind(await desk.log(scene), 'document.updated')).toHaveLength(3)
    await phone.close()
    const again = await scene.open(model)
    await reads((await again.session(scene.id)).document('draft'), 'Dear Lena, sorry. Bye.')
    await Promise.all([again.close(), scene.device.close()])
  })

  test('[SYNC-6] a server that answers every push with a conflict is asked once a pause, whatever is written meanwhile', async () => {
    let refusing = true
    let pushes = 0
    const gate = createGate()
    const conflict = {error: new HoldfastError('conflict', 'your copy is stale').toBody()}
    const answer = (method: string, path: string, response: Response) => {
      if (method !== 'POST' || !path.endsWith('/events')) return response
      pushes += 1
      void gate.pass()
      return refusing ? Response.json(conflict, {status: 409}) : response
    }
    const scene = await desk.play(model, {faults: {answer}})
    await gate.reached(1)
    const before = pushes
    for (let i = 1; i <= 30; i++) await scene.session.send(`Message ${i}`)
    // One a write would be thirty; with growing pauses not even a very slow machine gets to half of it.
    expect(pushes - before).toBeLessThan(15)
    refusing = false
    const view = await until(scene.session, each => each.pending === 0 && each.status === 'completed')
    expect(view.rejected).toBe(0)
    const said = ofKind(await desk.log(scene), 'message.posted').map(({data}) => data.text)
    expect(said).toEqual(Array.from({length: 30}, (_, i) => `Message ${i + 1}`))
    await scene.device.close()
  })
})
