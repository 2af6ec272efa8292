import {afterAll, beforeEach, describe, expect, test} from 'vitest'
import {gatewayModel} from '../../runtime/loop/define.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {openCountingProvider, words} from '../support/counting-provider.ts'
import {Killer, until} from '../support/crashable-device.ts'
import {deskScenes, ofKind, type Scene} from '../support/desk-scenes.ts'

const provider = await openCountingProvider()
const scenes = deskScenes({models: {desk: provider.model}})
const model = gatewayModel()
const whole = words.join('')
beforeEach(() => {
  provider.calls.length = 0
  provider.hold(-1)
})
afterAll(() => provider.close())

const completed = (view: SessionView) => view.status === 'completed' && view.pending === 0
const isModel = (path: string) => path.startsWith('/v1/models/')

async function replies(scene: Scene): Promise<string[]> {
  return ofKind(await scenes.log(scene), 'model.replied').map(({data}) =>
    data.content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join(''),
  )
}

const callsOf = async ({subject, id}: Scene) => {
  const {rows} = await scenes.shop.db.query<{status: string; try: number; estimated: number; output_tokens: number}>(
    'select status, try, estimated, output_tokens from hf_model_calls where subject = $1 and session = $2 order by try',
    [subject, id],
  )
  return rows.map(row => ({...row, try: Number(row.try), output: Number(row.output_tokens)}))
}

/** The answer, ending without a word after so many of its events. */
function cutAfter(response: Response, events: number): Response {
  let left = events
  const cutting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, out) {
      if (left === 0) return out.error(new TypeError('terminated'))
      left -= 1
      out.enqueue(chunk)
    },
  })
  return new Response(response.body?.pipeThrough(cutting), response)
}

describe('a generation under way', () => {
  test('[SYNC-4] [CUS-5] whose connection breaks at any part is read to its end and paid once', async () => {
    const parts = 13
    for (let events = 0; events <= parts; events++) {
      provider.calls.length = 0
      let cuts = 0
      const answer = (_: string, path: string, response: Response) =>
        isModel(path) && path.endsWith('stream') && cuts++ === 0 ? cutAfter(response, events) : response
      const scene = await scenes.play(model, {faults: {answer}})
      await scene.session.send('Where is it?')
      await until(scene.session, completed)
      expect(await replies(scene)).toEqual([whole])
      expect([events, provider.calls.length, cuts]).toEqual([events, 1, 1])
      await scene.device.close()
    }
  })

  test('[SYNC-4] whose connection breaks after every single part is still paid once', async () => {
    const answer = (_: string, path: string, response: Response) => (isModel(path) ? cutAfter(response, 1) : response)
    const scene = await scenes.play(model, {faults: {answer}})
    await scene.session.send('Where is it?')
    await until(scene.session, completed)
    expect(await replies(scene)).toEqual([whole])
    expect(provider.calls).toHaveLength(1)
    await scene.device.close()
  })

  const endings: [string, (scene: Scene, killer: Killer) => Promise<void>][] = [
    [
      'the worker is killed',
      async (_, killer) => {
        killer.dead = true
      },
    ],
    ['the tab is reloaded', ({device}) => device.close()],
  ]
  test.each(endings)(
    '[CUS-2] [RUN-8] when %s is taken up again, shown from its start, and paid once',
    async (_, end) => {
      const killer = new Killer(null)
      const gate = provider.hold(3)
      const scene = await scenes.play(model, {killer})
      await scene.session.send('Where is it?')
      await until(scene.session, view => view.streaming?.text === words.slice(0, 3).join(''))
      await end(scene, killer)
      const next = await scene.open(model)
      const session = await next.session(scene.id)
      await until(session, view => view.streaming?.text === words.slice(0, 3).join(''))
      expect(provider.calls.map(call => call.ended)).toEqual(['open'])
      gate.open()
      await until(session, completed)
      expect(await replies(scene)).toEqual([whole])
      expect(provider.charged()).toBe(words.length)
      expect(await callsOf(scene)).toMatchObject([{status: 'done', try: 1, estimated: 0}])
      await next.close()
    },
  )

  test('[SYNC-4] when the server is restarted is lost upstream: another try is made, and both are counted', async () => {
    const gate = provider.hold(3)
    const scene = await scenes.play(model)
    await scene.session.send('Where is it?')
    await until(scene.session, view => view.streaming !== null)
    await scenes.shop.restart()
    gate.open()
    await until(scene.session, completed)
    expect(await replies(scene)).toEqual([whole])
    expect(await callsOf(scene)).toMatchObject([
      {status: 'lost', try: 1, estimated: 1},
      {status: 'done', try: 2, estimated: 0, output: words.length},
    ])
    await scene.device.close()
  })

  test('[RUN-7] is ended upstream when its person cancels the run', async () => {
    const gate = provider.hold(3)
    const scene = await scenes.play(model)
    await scene.session.send('Where is it?')
    await until(scene.session, view => view.streaming !== null)
    await scene.session.cancel()
    await expect.poll(() => provider.calls[0]?.ended).toBe('aborted')
    gate.open()
    await scene.device.close()
  })

  test('[RUN-5] that failed three times is another call in each try, and others again in the next attempt', async () => {
    provider.misbehave({status: 500}, {status: 429, headers: {'retry-after': '0'}}, {breakAfter: 2})
    const scene = await scenes.play(model)
    await scene.session.send('Where is it?')
    await until(scene.session, view => view.status === 'failed_retryable')
    expect(provider.calls).toHaveLength(3)
    await scene.session.retry()
    await until(scene.session, completed)
    expect(await callsOf(scene)).toMatchObject([
      {status: 'failed', try: 1},
      {status: 'done', try: 1},
      {status: 'failed', try: 2},
      {status: 'failed', try: 3},
    ])
    await scene.device.close()
  })

  test('[BUD-1] that will not pass is not tried again, and the person is told so in our words', async () => {
    provider.misbehave({status: 400, body: {error: {message: 'Bad request with sk-proj-0123456789abcdef0123.'}}})
    const scene = await scenes.play(model)
    await scene.session.send('Where is it?')
    const view = await until(scene.session, ({status}) => status === 'failed_final')
    expect(view.entries.at(-1)).toMatchObject({type: 'notice', text: expect.stringContaining('refused the request')})
    expect(provider.calls).toHaveLength(1)
    await scene.device.close()
  })
})
