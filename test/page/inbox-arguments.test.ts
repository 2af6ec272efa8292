import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {type InboxMemory, processInboxMemory} from '../../runtime/page/inbox-memory.ts'
import {type Inbox, openInbox} from '../../runtime/page/open-inbox.ts'
import {httpLink} from '../../runtime/sync/http-link.ts'

/** What the inbox did: writes to the memory of this device, and requests that change something on the server. */
const done: string[] = []
const kept = processInboxMemory()
const memory: InboxMemory = {
  ...kept,
  saveKey: async () => void done.push('saveKey'),
  saveDecision: async () => void done.push('saveDecision'),
  dropDecision: async () => void done.push('dropDecision'),
  clear: async () => void done.push('clear'),
}
const link = httpLink({
  url: 'http://desk.test',
  fetch: async (_, {method = 'GET'} = {}) => {
    if (method !== 'GET') done.push(method)
    throw new TypeError('fetch failed')
  },
})

let inbox: Inbox
beforeAll(() => {
  inbox = openInbox({url: 'http://desk.test', token: 'token', link, offline: {name: 'theo', memory}})
})
afterAll(() => inbox.close())

const uuid = '01890000-0000-7000-8000-000000000000'
const approval = `apr_${uuid}`
const operation = `opn_${uuid}`
const digest = 'a'.repeat(64)

/** As a program without types calls it. */
type Calls = Record<keyof Inbox, (...given: unknown[]) => unknown>

const calls: [string, (inbox: Calls) => unknown, string][] = [
  [
    'signOut, wipe of a text',
    i => i.signOut({wipe: 'false'}),
    'inbox.signOut.wipe: expected true or false, got a string',
  ],
  ['signOut, wipe of 0', i => i.signOut({wipe: 0}), 'inbox.signOut.wipe: expected true or false, got 0'],
  ['signOut, wipe of null', i => i.signOut({wipe: null}), 'inbox.signOut.wipe: expected true or false, got null'],
  ['signOut, wipe misspelt', i => i.signOut({wpie: true}), 'inbox.signOut.wpie: expected no such field'],
  ['signOut, null', i => i.signOut(null), 'inbox.signOut: expected an object, got null'],
  ['signOut, true', i => i.signOut(true), 'inbox.signOut: expected an object, got true'],
  [
    'decide, no approval',
    i => i.decide(undefined, {verdict: 'approve', digest}),
    'inbox.decide.approval: expected a string',
  ],
  [
    'decide, a path',
    i => i.decide('../me', {verdict: 'approve', digest}),
    'inbox.decide.approval: expected an approval id',
  ],
  ['decide, no decision', i => i.decide(approval), 'inbox.decide.decision: expected an object, got undefined'],
  [
    'decide, another verdict',
    i => i.decide(approval, {verdict: 'yes', digest}),
    'inbox.decide.decision.verdict: expected',
  ],
  [
    'decide, no digest',
    i => i.decide(approval, {verdict: 'approve'}),
    'inbox.decide.decision.digest: expected a string',
  ],
  [
    'decide, note misspelt',
    i => i.decide(approval, {verdict: 'reject', digest, note_: 'x'}),
    'inbox.decide.decision.note_',
  ],
  [
    'decide, a long note',
    i => i.decide(approval, {verdict: 'reject', digest, note: 'x'.repeat(1001)}),
    'at most 1000 characters',
  ],
  ['dismiss, nothing', i => i.dismiss(), 'inbox.dismiss.nonce: expected a string, got undefined'],
  ['dismiss, an object', i => i.dismiss({}), 'inbox.dismiss.nonce: expected a string, got an object'],
  [
    'settle, no operation',
    i => i.settle(null, {happened: false, digest, reason: 'x'}),
    'inbox.settle.operation: expected a string',
  ],
  ['settle, nothing said', i => i.settle(operation), 'inbox.settle.said: expected an object, got undefined'],
  [
    'settle, a text for happened',
    i => i.settle(operation, {happened: 'false', digest, reason: 'x'}),
    'inbox.settle.said.happened',
  ],
  [
    'settle, no receipt',
    i => i.settle(operation, {happened: true, digest}),
    'inbox.settle.said.receipt: expected a string',
  ],
  ['delegate, nothing', i => i.delegate(), 'inbox.delegate: expected an object, got undefined'],
  [
    'delegate, no end',
    i => i.delegate({role: 'approver', to: 'ana', until: Infinity}),
    'inbox.delegate.until: expected',
  ],
  [
    'delegate, no role',
    i => i.delegate({role: '', to: 'ana', until: 1}),
    'inbox.delegate.role: expected at least 1 character',
  ],
  [
    'delegate, until misspelt',
    i => i.delegate({role: 'approver', to: 'ana', untill: 1}),
    'inbox.delegate.until: expected',
  ],
  [
    'revokeDelegation, a number',
    i => i.revokeDelegation(42),
    'inbox.revokeDelegation.delegation: expected a string, got 42',
  ],
  ['addDevice, nothing', i => i.addDevice(), 'inbox.addDevice.label: expected a string, got undefined'],
  ['addDevice, an empty name', i => i.addDevice(''), 'inbox.addDevice.label: expected at least 1 character'],
  ['revokeDevice, an approval', i => i.revokeDevice(approval), 'inbox.revokeDevice.key: expected a key id'],
  ['subscribe, nothing', async i => i.subscribe(), 'inbox.subscribe: expected a function'],
  ['subscribe, null', async i => i.subscribe(null), 'inbox.subscribe: expected a function'],
]

describe('[APP-4] an invalid argument of an inbox is refused by its name, and nothing is stored, sent or deleted', () => {
  test.each(calls)('%s', async (_, call, message) => {
    await expect((async () => call(inbox as unknown as Calls))()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining(message),
    })
    expect(done).toEqual([])
  })
})
