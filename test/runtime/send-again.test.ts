import {describe, expect, test} from 'vitest'
import {newEventId, newSessionId} from '../../runtime/index.ts'
import {openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk, deskTools, openTestServer} from '../support/desk.ts'

const messages = (view: SessionView) => view.entries.flatMap(entry => (entry.type === 'message' ? [entry.text] : []))

function until(session: Session, met: (view: SessionView) => boolean): Promise<void> {
  return new Promise(resolve => {
    const unsubscribe = session.subscribe(view => {
      if (!met(view)) return
      resolve()
      queueMicrotask(() => unsubscribe())
    })
  })
}

async function openDesk(texts: string[], until?: Promise<void>) {
  const shop = await openTestServer()
  const model = scriptedModel(texts.map(text => ({text, ...(until && {until})})))
  const sync = {link: await shop.link('maya'), token: await shop.token('maya')}
  const runtime = await openRuntime({agent: desk, model, tools: deskTools, dataDir: 'memory://', sync})
  return {runtime, close: () => runtime.close().finally(() => shop.close())}
}

describe('what is sent again after an unknown outcome', () => {
  test('[LOG-3] [CUS-5] a message sent three times with one id is stored once', async () => {
    const {runtime, close} = await openDesk(['Noted.'])
    const session = await runtime.openSession({agent: 'desk'})
    const id = newEventId()
    for (let press = 0; press < 3; press++) await session.send('Order A17 arrived broken.', {id})
    expect(messages(await session.settled())).toEqual(['Order A17 arrived broken.'])
    await close()
  })

  test('[LOG-3] the same words with another id are another message', async () => {
    const {runtime, close} = await openDesk(['Noted.', 'Noted again.'])
    const session = await runtime.openSession({agent: 'desk'})
    for (let press = 0; press < 2; press++) {
      await session.send('Yes.', {id: newEventId()})
      await session.settled()
    }
    expect(messages(await session.settled())).toEqual(['Yes.', 'Yes.'])
    await close()
  })

  test('[LOG-3] a session opened three times with one id is one session', async () => {
    const {runtime, close} = await openDesk([])
    const id = newSessionId()
    for (let press = 0; press < 3; press++) {
      expect((await runtime.openSession({agent: 'desk', title: 'Broken mug', id})).id).toBe(id)
    }
    await close()
  })

  test('[RUN-3] [LOG-3] a message that made a branch makes no second one', async () => {
    const {runtime, close} = await openDesk(['First.', 'In the branch.'], new Promise(() => {}))
    const session = await runtime.openSession({agent: 'desk'})
    await session.send('Work on A17.')
    await until(session, view => view.pending === 0 && view.status === 'running')
    const id = newEventId()
    const first = await session.send('Elsewhere, B22.', {id, policy: 'fork'})
    const again = await session.send('Elsewhere, B22.', {id, policy: 'fork'})
    expect(first.id).not.toBe(session.id)
    expect(again.id).toBe(first.id)
    await close()
  })
})
