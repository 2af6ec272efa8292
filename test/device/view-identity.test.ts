import {expect, test} from 'vitest'
import {fixedOwner} from '../../runtime/device/device-owner.ts'
import {openDeviceRuntime} from '../../runtime/device/device-runtime.ts'
import {localFeed} from '../../runtime/device/local-feed.ts'
import {type AgentHost, defineAgent} from '../../runtime/loop/define.ts'
import {systemEnvironment as environment} from '../../runtime/platform/environment.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {openLocalDevice} from '../support/local-session.ts'

const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: []})

test('[VIEW-4] a view keeps the entries that have not changed, so that a streamed word costs no comparison of texts', async () => {
  const device = await openLocalDevice()
  const {service, close} = await openDeviceRuntime({
    store: device.store,
    hosts: [{agent, model: scriptedModel([{text: 'One.'}, {text: 'Two.'}]), tools: {}} as unknown as AgentHost],
    environment,
    link: null,
    owner: fixedOwner('maya'),
    setToken: () => undefined,
    publisher: localFeed(),
  })
  const session = environment.id('session')
  const completed = async (entries: number) => {
    await expect.poll(async () => (await service.view(session)).entries.length).toBe(entries)
    await expect.poll(async () => (await service.view(session)).settled).toBe(true)
    return await service.view(session)
  }
  await service.openSession(session, {event: environment.id('event'), agent: 'desk'})
  await service.send(session, environment.id('event'), {text: 'First.'})
  const before = await completed(2)
  const again = await service.view(session)
  expect(again.entries.every((entry, i) => entry === before.entries[i])).toBe(true)
  // The list and the passport belong to their reader, who may change them.
  again.entries.length = 0
  Object.assign(again.passport?.pin ?? {}, {tools: []})
  const {entries, passport} = await service.view(session)
  expect({entries, passport}).toEqual({entries: before.entries, passport: before.passport})
  await service.send(session, environment.id('event'), {text: 'Second.'})
  const next = await completed(4)
  expect(next.entries[0]).toBe(before.entries[0])
  expect(next.entries[1]).toBe(before.entries[1])
  await close()
  await device.close()
})
