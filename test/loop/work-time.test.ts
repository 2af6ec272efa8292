import {expect, test} from 'vitest'
import * as z from 'zod'
import {fixedOwner} from '../../runtime/device/device-owner.ts'
import {openDeviceRuntime} from '../../runtime/device/device-runtime.ts'
import {localFeed} from '../../runtime/device/local-feed.ts'
import {type AgentHost, defineAgent, defineTool, type ModelSource} from '../../runtime/loop/define.ts'
import {createSessions} from '../../runtime/page/page-runtime.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {fakeEnvironment, scriptedModel} from '../../runtime/testing.ts'

const hour = 3_600_000
const wait = defineTool({name: 'wait', description: 'x', effect: 'read', input: z.strictObject({})})
const agent = defineAgent({name: 'desk', version: '1', instructions: 'x', tools: [wait], budgets: {wallMs: hour}})

/** A device that can be closed and opened again on its database, with a clock that a test sets. */
async function device(tools: {wait(): unknown}) {
  const environment = fakeEnvironment({seed: 'laptop'})
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  const store = await openPGliteStore(db, environment)
  const open = async (model: ModelSource) => {
    const feed = localFeed()
    const runtime = await openDeviceRuntime({
      store,
      hosts: [{agent, model, tools} as unknown as AgentHost],
      environment,
      link: null,
      owner: fixedOwner('maya'),
      setToken: () => undefined,
      publisher: feed,
      retryDelayMs: 1,
    })
    const page = {listen: feed.listen, onOwnerChange: () => () => undefined, environment}
    return {sessions: createSessions({service: runtime.service, ...page}), close: runtime.close}
  }
  return {open, clock: environment.clock, close}
}

const never = new Promise<never>(() => undefined)

test('[BUD-3] a run that was closed in the middle of its work goes on hours later', async () => {
  const {open, clock, close} = await device({wait: () => ({})})
  const calls = [{tool: 'wait', input: {}}]
  const before = await open(scriptedModel([{calls}, {until: never}]))
  const {id, ...session} = await before.sessions.openSession({agent: 'desk'})
  await session.send('Go.')
  await expect.poll(async () => (await session.passport())?.checkpoint.steps).toBe(2)
  await before.close()
  clock.advance(2 * hour)
  const after = await open(scriptedModel([{text: 'Done.'}]))
  const view = await (await after.sessions.openSession({session: id})).settled()
  expect(view.status).toBe('completed')
  expect(view.entries.at(-1)).toMatchObject({type: 'reply', text: 'Done.'})
  expect(view.passport?.usage.wallMs).toBeLessThan(hour)
  await after.close()
  await close()
})

test.each([
  ['ahead by five hours', 5 * hour],
  ['back by ten years', -87_600 * hour],
])('[BUD-3] a clock that is set %s during a run changes nothing', async (_, by) => {
  const laptop = await device({
    wait: () => {
      laptop.clock.set(laptop.clock.now() + by)
      return {}
    },
  })
  const {sessions, close} = await laptop.open(scriptedModel([{calls: [{tool: 'wait', input: {}}]}, {text: 'Done.'}]))
  const session = await sessions.openSession({agent: 'desk'})
  await session.send('Go.')
  const view = await session.settled()
  expect(view.status).toBe('completed')
  expect(view.entries.at(-1)).toMatchObject({type: 'reply', text: 'Done.'})
  expect(view.passport?.usage.wallMs).toBe(0)
  await close()
  await laptop.close()
})
