import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import type {RunId} from '../../runtime/protocol/ids.ts'
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

const event = 'evt_01890000-0000-7000-8000-000000000000'
const run = 'run_01890000-0000-7000-8000-000000000000' as RunId

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
  [
    'a reason of 501 characters',
    () => session.cancel('x'.repeat(501)),
    'cancel.reason: expected at most 500 characters',
  ],
  ['a long reason to close', () => session.close('x'.repeat(501)), 'close.reason: expected at most 500 characters'],
  [
    'a long reason to migrate',
    () => session.migrate({version: '2', reason: 'x'.repeat(501)}),
    'migrate.reason: expected',
  ],
  ['a long version', () => session.migrate({version: 'x'.repeat(100_000)}), 'migrate.version: expected at most 200'],
  ['words for online', () => runtime.setOnline('false' as never), 'setOnline: expected'],
  ['no listener', async () => session.subscribe(undefined as never), 'subscribe: expected a function'],
  [
    'no listener of the list',
    async () => runtime.subscribeSessions(null as never),
    'subscribeSessions: expected a function',
  ],
  [
    'no listener of the connection',
    async () => runtime.subscribeConnection(42 as never),
    'subscribeConnection: expected',
  ],
  ['a message of a symbol', () => session.send(Symbol('x') as never), 'text: expected a message'],
  ['a title of no words', () => runtime.openSession({agent: 'desk', title: ''}), 'openSession.title: expected'],
  [
    'a history of a fraction',
    () => session.history({before: event, limit: 1.5}),
    'history.limit: expected a whole number',
  ],
  [
    'a history of 0 entries',
    () => session.history({before: event, limit: 0}),
    'history.limit: expected a number of at',
  ],
  [
    'a history of 201 entries',
    () => session.history({before: event, limit: 201}),
    'history.limit: expected at most 200',
  ],
  ['a history of NaN entries', () => session.history({before: event, limit: Number.NaN}), 'history.limit: expected'],
  ['a history before no entry', () => session.history({before: '42'}), 'history.before: expected an event id'],
  ['a fork after a fraction', () => session.fork({after: 1.5}), 'fork.after: expected a whole number'],
  ['a fork after NaN', () => session.fork({after: Number.NaN}), 'fork.after: expected a number, got NaN'],
  ['a fork after nothing', () => session.fork({after: 0}), 'fork.after: expected a number of at least 1'],
  ['effects after NaN', () => session.effectsAfter(Number.NaN), 'effectsAfter: expected a number, got NaN'],
  ['effects after a fraction', () => session.effectsAfter(0.5), 'effectsAfter: expected a whole number'],
  ['effects after -1', () => session.effectsAfter(-1), 'effectsAfter: expected a number of at least 0'],
  ['effects after a text', () => session.effectsAfter('1' as never), 'effectsAfter: expected a number, got a string'],
  ['a device of null', () => session.handOver(null as never), 'handOver.device: expected a string, got null'],
  ['a device of another kind', () => session.handOver(session.id), 'handOver.device: expected a device id'],
  [
    'another choice',
    () => session.resolveDivergence('drop' as never),
    'resolveDivergence: expected "keep", "merge" or',
  ],
  ['no choice', () => session.resolveDivergence(undefined as never), 'resolveDivergence: expected "keep", "merge" or'],
  ['an entry of a number', () => session.entry(42 as never), 'entry: expected a string, got 42'],
  [
    'a document of a symbol',
    async () => session.document(Symbol('x') as never),
    'document: expected a string, got a symbol',
  ],
  ['a document of two words', async () => session.document('My draft'), 'document: expected a document name'],
  [
    'an edit of a number',
    () => session.document('draft').edit(42 as never),
    'document.edit: expected a string, got 42',
  ],
  ['an edit of nothing', () => session.document('draft').edit(undefined as never), 'document.edit: expected a string'],
  [
    'no listener of a document',
    async () => session.document('draft').subscribe(null as never),
    'document.subscribe: expected',
  ],
  ['a passport of no run', () => runtime.passport(undefined as never), 'passport.run: expected a string'],
  ['an export of a session', () => runtime.exportRun(session.id as never), 'exportRun.run: expected a run id'],
  ['a view of no step', () => runtime.viewOf(run, null as never), 'viewOf.step: expected a string, got null'],
  ['no listener of the person', async () => runtime.person.subscribe(undefined as never), 'person.subscribe: expected'],
]

describe('what a caller passes is refused by the name that the caller wrote, and nothing is done', () => {
  test.each(calls)('%s', async (_, call, message) => {
    await expect((async () => call())()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(message),
    })
  })

  test('an unknown agent is named in short', async () => {
    const answer = await runtime.openSession({agent: 'x'.repeat(100_000)}).catch(error => error)
    expect(answer).toMatchObject({code: 'bad_input'})
    expect(answer.message.length).toBeLessThan(400)
  })

  test('nothing was stored', async () => {
    const {rows} = await runtime.db.query("select kind from holdfast_events where kind <> 'session.opened'")
    expect(rows).toEqual([])
  })
})
