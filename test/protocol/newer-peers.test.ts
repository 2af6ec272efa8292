import {describe, expect, test} from 'vitest'
import {readEvent, readLoggedEvent} from '../../runtime/protocol/event.ts'
import {onlyUnknownFields, parseTolerant} from '../../runtime/protocol/tolerant.ts'
import {wireRevision} from '../../runtime/protocol/version.ts'
import {
  liveMessageSchema,
  pageSchema,
  pushAnswerSchema,
  revisionHeader,
  sessionListSchema,
} from '../../runtime/protocol/wire.ts'
import {readJson} from '../../runtime/sync/read-answer.ts'
import {serverEnvironment as env} from '../../sync-server/index.ts'
import {call, headersOf} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers, logOf} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

const database = testDatabase()
const servers = deskServers(database)

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

describe('[LOG-8] a device reads the answers of a newer server', () => {
  test('fields that it does not know are ignored, at every depth and in lists', () => {
    const verdict = {status: 'accepted', id: env.id('event'), seq: 1}
    const answer = {verdicts: [{...verdict, shard: 3}, verdict], head: 1, region: {name: 'eu'}}
    expect(readJson(pushAnswerSchema, bytes(answer), 'push')).toEqual({verdicts: [verdict, verdict], head: 1})
    expect(parseTolerant(liveMessageSchema, {type: 'hello', build: '2'})).toMatchObject({data: {type: 'hello'}})
  })

  test('what is wrong otherwise stays wrong', () => {
    for (const answer of [
      {verdicts: [], head: -1, extra: 1},
      {extra: 1},
      [],
      null,
      {verdicts: [{extra: 1}], head: 1},
    ]) {
      expect(() => readJson(pushAnswerSchema, bytes(answer), 'push')).toThrow('another version')
    }
    expect(() => readJson(sessionListSchema, bytes({sessions: [{id: 'x', extra: 1}], erased: []}), 'list')).toThrow()
    const missing = pushAnswerSchema.safeParse({extra: 1})
    expect(missing.error && onlyUnknownFields(missing.error)).toBe(false)
  })
})

describe('[LOG-8] an event that a newer build wrote', () => {
  const device = testDevice({tenant: 'newer', subject: 'ana'})
  const sent = device.post('Hello')
  const newer = {...sent, seq: 1, priority: 2, data: {text: 'Hello', mood: 'glad'}}

  test('is kept with all its fields and readable in the log', () => {
    expect(readLoggedEvent(newer)).toEqual(newer)
    expect(readJson(pageSchema, bytes({events: [newer], head: 1, more: false}), 'page').events).toEqual([newer])
  })

  test('is refused from an author, and of a higher version it is unreadable', () => {
    expect(() => readEvent({...sent, priority: 2})).toThrow('event.priority')
    expect(() => readEvent({...sent, data: newer.data})).toThrow('mood')
    expect(readLoggedEvent({...newer, v: 9})).toMatchObject({unreadable: expect.stringContaining('version 9')})
  })
})

describe('[LOG-8] a server that is older than the device', () => {
  const newer = {[revisionHeader]: String(wireRevision + 1)}
  const pushAs = (headers: Record<string, string>, device: ReturnType<typeof testDevice>, events: unknown[]) =>
    servers.server().app.request(`/v1/sessions/${device.session}/events`, {
      method: 'POST',
      headers: {...headersOf(device.who), ...headers},
      body: JSON.stringify({events}),
    })

  test.each([
    ['an optional field', (event: object) => ({...event, priority: 2})],
    ['a field of its data', (event: object) => ({...event, data: {text: 'Hi', mood: 'glad'}})],
    ['a kind', (event: object) => ({...event, kind: 'message.pinned'})],
    ['a version', (event: object) => ({...event, v: 7})],
  ])(
    'gives no verdict on %s that it does not know; the event is taken once the server is updated',
    async (_, change) => {
      const device = testDevice({tenant: 'newer', subject: 'ben'})
      const server = servers.server()
      await device.push(server, [device.open()])
      const event = device.post('Hi')
      const answer = await pushAs(newer, device, [event, change(device.post('Later'))])
      expect(answer.status).toBe(426)
      expect(answer.headers.get(revisionHeader)).toBe(String(wireRevision))
      expect(await answer.json()).toMatchObject({error: {code: 'version_mismatch', details: {revision: wireRevision}}})
      expect(await logOf(server, device.who, device.session)).toHaveLength(1)
      expect(await (await pushAs(newer, device, [event])).json()).toMatchObject({verdicts: [{status: 'accepted'}]})
    },
  )

  test('takes a wrong event, and an unknown field of a device of its own revision, for a mistake', async () => {
    const device = testDevice({tenant: 'newer', subject: 'cem'})
    await device.push(servers.server(), [device.open()])
    const wrong = await pushAs(newer, device, [{...device.post('Hi'), data: {text: 1, mood: 'glad'}}])
    expect(await wrong.json()).toMatchObject({verdicts: [{status: 'rejected', error: {code: 'bad_input'}}]})
    const same = await pushAs({}, device, [{...device.post('Hi'), priority: 1}])
    expect(await same.json()).toMatchObject({verdicts: [{status: 'rejected', error: {code: 'bad_input'}}]})
  })

  test('says so of a request body, too', async () => {
    const who = {tenant: 'newer', subject: 'dan'}
    const ask = (headers: Record<string, string>) =>
      servers.server().app.request('/v1/memory/recall', {
        method: 'POST',
        headers: {...headersOf(who), ...headers},
        body: JSON.stringify({query: 'x', mood: 'glad'}),
      })
    expect((await ask(newer)).status).toBe(426)
    expect((await ask({})).status).toBe(400)
    expect((await call(servers.server(), who, '/v1/memory/recall', {query: 'x'})).status).toBe(200)
  })
})

test('[LOG-8] stored events of a newer build are handed out whole and do not stop this one', async () => {
  const device = testDevice({tenant: 'stored', subject: 'ana'})
  const server = servers.server()
  await device.push(server, [device.open(), device.post('Hello')])
  await database.sql.query(
    `UPDATE hf_events SET body = (body::jsonb || '{"priority": 2}' || jsonb_build_object('data', body::jsonb->'data' || '{"mood": "glad"}'))::text
     WHERE tenant = 'stored' AND seq = 2`,
  )
  const [, event] = await logOf(server, device.who, device.session)
  expect(event).toMatchObject({priority: 2, data: {text: 'Hello', mood: 'glad'}})
  await device.push(server, [device.post('Next')])
})
