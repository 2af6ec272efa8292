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

type Calls = {
  wipe(options: unknown): unknown
  signOut(options: unknown): unknown
  switchPerson(person: unknown): unknown
}

const calls: [string, (persons: Calls) => unknown, string][] = [
  ['wipe, null', p => p.wipe(null), 'wipe: expected an object, got null'],
  ['wipe, true', p => p.wipe(true), 'wipe: expected an object, got true'],
  [
    'wipe, the text "false"',
    p => p.wipe({discardUnsent: 'false'}),
    'wipe.discardUnsent: expected true, false or a whole number',
  ],
  [
    'wipe, the text "5"',
    p => p.wipe({discardUnsent: '5'}),
    'wipe.discardUnsent: expected true, false or a whole number',
  ],
  [
    'wipe, Infinity',
    p => p.wipe({discardUnsent: Infinity}),
    'wipe.discardUnsent: expected true, false or a whole number',
  ],
  ['wipe, NaN', p => p.wipe({discardUnsent: Number.NaN}), 'got NaN'],
  ['wipe, -1', p => p.wipe({discardUnsent: -1}), 'got -1'],
  ['wipe, a fraction', p => p.wipe({discardUnsent: 1.5}), 'got 1.5'],
  ['wipe, null as number', p => p.wipe({discardUnsent: null}), 'got null'],
  ['wipe, an object that counts as 5', p => p.wipe({discardUnsent: {valueOf: () => 5}}), 'got an object'],
  ['wipe, misspelt', p => p.wipe({discardunsent: true}), 'wipe.discardunsent: expected no such field'],
  ['signOut, wipe', p => p.signOut({wipe: true}), 'signOut: expected no argument, got an object; `wipe` deletes'],
  ['signOut, true', p => p.signOut(true), 'signOut: expected no argument, got true'],
  ['signOut, null', p => p.signOut(null), 'signOut: expected no argument, got null'],
  [
    'switchPerson, a person',
    p => p.switchPerson({tenant: 'shop', subject: 'ben'}),
    'switchPerson: expected no argument',
  ],
  ['switchPerson, a name', p => p.switchPerson('ben'), 'switchPerson: expected no argument, got a string'],
]

describe('[ID-6] an invalid argument is refused by its name, and the person stays signed in with their data', () => {
  test.each(calls)('%s', async (_, call, message) => {
    await expect((async () => call(runtime as Calls))()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(message),
    })
    const {rows} = await runtime.db.query("select session from holdfast_events where kind = 'session.opened'")
    expect(rows).toEqual([{session: session.id}])
  })

  test('an event handler may receive its event', async () => {
    const own = await openRuntime({
      agent: {...desk, tools: []},
      model: scriptedModel([]),
      tools: {},
      dataDir: 'memory://',
    })
    expect(await (own as Calls).signOut(new Event('click'))).toEqual({unsent: 0})
    await own.close()
  })
})
