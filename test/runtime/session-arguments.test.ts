import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk} from '../support/desk.ts'

let runtime: NodeRuntime
let session: Session
beforeAll(async () => {
  runtime = await openRuntime({
    agent: {...desk, tools: []},
    model: scriptedModel([]),
    tools: {},
    dataDir: 'memory://',
  })
  session = await runtime.openSession({agent: 'desk'})
})
afterAll(() => runtime.close())

const calls: [string, () => unknown, string][] = [
  ['a policy in place of the options', () => session.send('Stop.', 'interrupt' as never), 'send: expected an object'],
  ['null as options', () => session.send('Stop.', null as never), 'send: expected an object'],
  [
    'a misspelt policy',
    () => session.send('Stop.', {polcy: 'interrupt'} as never),
    'send.polcy: expected no such field',
  ],
  ['an unknown policy', () => session.send('Stop.', {policy: 'stop' as never}), 'send.policy: expected'],
  ['null as policy', () => session.send('Stop.', {policy: null as never}), 'send.policy: expected'],
  ['an id of another kind', () => session.send('Stop.', {id: 'ses_1'}), 'send.id: expected'],
  ['a correlation that is none', () => session.send('Stop.', {correlation: '__proto__' as never}), 'send.correlation'],
  ['no target', () => runtime.openSession(undefined as never), 'openSession: expected an object'],
  [
    'a misspelt title',
    () => runtime.openSession({agent: 'desk', titel: 'x'} as never),
    'openSession.titel: expected no',
  ],
  ['a number as session', () => runtime.openSession({session: 42 as never}), 'openSession.session: expected'],
  ['a fork of nothing', () => session.fork(undefined as never), 'fork: expected an object'],
  ['a fork after words', () => session.fork({after: 'now' as never}), 'fork.after: expected a number'],
  ['a migration to nothing', () => session.migrate(undefined as never), 'migrate: expected an object'],
  ['a blob of nothing', () => session.blob(undefined as never), 'blob: expected'],
  ['a history of words', () => session.history('all' as never), 'history: expected an object'],
  ['a reason that is none', () => session.cancel(42 as never), 'cancel.reason: expected'],
  ['words for online', () => runtime.setOnline('false' as never), 'setOnline: expected'],
  ['no listener', async () => session.subscribe(undefined as never), 'subscribe: expected a function'],
  [
    'no listener of the list',
    async () => runtime.subscribeSessions(null as never),
    'subscribeSessions: expected a function',
  ],
]

describe('what a caller passes is refused by the name that the caller wrote, and nothing is done', () => {
  test.each(calls)('%s', async (_, call, message) => {
    await expect((async () => call())()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(message),
    })
  })

  test('no message was stored', async () => {
    const {rows} = await runtime.db.query("select 1 from holdfast_events where kind = 'message.posted'")
    expect(rows).toEqual([])
  })
})
