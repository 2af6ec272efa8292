import {describe, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import {promptModel, said} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {deskScenes} from '../support/desk-scenes.ts'
import {tablesWith} from '../support/scan-database.ts'

const desk = deskScenes()
const words = 'a kettle that belonged to Lena'

/** Carries what it is told into a tool, a document and a reply. */
const model = promptModel(prompt =>
  prompt.at(-1)?.role === 'tool'
    ? {text: `Noted: ${said(prompt)[0]}`}
    : {calls: [{tool: 'saveNote', input: {text: said(prompt)[0]}}]},
)

describe('deletion in one layer only', () => {
  test('[RET-2] [RET-3] an erased conversation leaves its words in no layer of server and device, and its branch says what it lost', async () => {
    const scene = await desk.play(model)
    await scene.session.send(words)
    const view = await until(scene.session, each => each.status === 'completed' && each.pending === 0)
    const branch = await scene.session.fork({after: view.head})
    await until(branch, each => each.pending === 0 && each.head > 0)
    // The application's own table is not ours to erase.
    await desk.db.exec('delete from notes')
    expect((await tablesWith(desk.shop.db, words)).length).toBeGreaterThan(0)
    expect((await tablesWith(desk.db, words)).length).toBeGreaterThan(1)

    const headers = {
      authorization: `Bearer ${await desk.shop.token(scene.subject)}`,
      'holdfast-protocol': '1',
      'content-type': 'application/json',
    }
    const ask = async (path: string, body?: unknown) => {
      const request = {headers, ...(body !== undefined && {method: 'POST', body: JSON.stringify(body)})}
      const response = await desk.shop.server.fetch(new Request(`http://desk.test${path}`, request))
      return {status: response.status, body: (await response.json()) as ErasureReceipt}
    }
    const {status, body} = await ask('/v1/erasures', {session: scene.id})
    expect(status).toBe(200)
    const gone = await until(scene.session, each =>
      each.entries.some(entry => 'about' in entry && entry.about === 'erased'),
    )
    expect(gone.entries).toHaveLength(1)
    expect(await tablesWith(desk.shop.db, words)).toEqual([])
    expect(await tablesWith(desk.db, words)).toEqual([])
    const layers = body.layers.filter(({removed}) => removed > 0).map(({name}) => name)
    expect(layers).toEqual(expect.arrayContaining(['transcript', 'documents', 'runs']))
    const inherited = await until(branch, each =>
      each.entries.some(entry => 'about' in entry && entry.about === 'erased'),
    )
    expect(JSON.stringify(inherited)).not.toContain(words)
    await expect.poll(async () => (await ask(`/v1/erasures/${body.erasure}`)).body.outstanding.devices).toEqual([])
    await scene.device.close()
  })
})
