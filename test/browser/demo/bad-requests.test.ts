import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {issueToken} from '../../../sync-server/index.ts'
import {tokenIssue} from '../../../web-demo/server/demo-routes.ts'
import {shopTenant} from '../../../web-demo/shop/facts.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, untilBarSays, untilSynced} from './support/desk-page.ts'
import {expectSound, messagesIn} from './support/tables.ts'

const site = demoSite({model: 'rules'})
let page: Page
let session: string
const tokens = {maya: '', theo: '', expired: ''}

beforeAll(async () => {
  page = await site.openTab()
  await newConversation(page, 'Where is order A17?')
  await untilBarSays(page, 'Done')
  await untilSynced(page)
  session = new URL(page.url()).searchParams.get('session') ?? ''
  tokens.maya = await tokenOf('maya')
  tokens.theo = await tokenOf('theo')
  const secret = await readFile(join(site.dataDir, 'demo-secret'), 'utf8')
  const claims = {...tokenIssue, tenant: shopTenant, subject: 'maya', roles: ['support']}
  tokens.expired = await issueToken({secret, ...claims, expiresInSeconds: -60})
})

function tokenOf(person: string): Promise<string> {
  return page.evaluate(async as => (await (await fetch(`/demo/token?as=${as}`)).json()).token, person)
}

type Answer = {status: number; error: {code: string; message: string; details?: unknown} | undefined; verdicts: unknown}

/** Sent by a page, as a stranger's page or a broken build of ours would. */
function push(body: string, {token = tokens.maya, to = session} = {}): Promise<Answer> {
  return page.evaluate(
    async ([to, token, body]) => {
      const headers = {authorization: `Bearer ${token}`, 'content-type': 'application/json', 'holdfast-protocol': '1'}
      const response = await fetch(`/v1/sessions/${to}/events`, {method: 'POST', headers, body})
      const {error, verdicts} = await response.json()
      return {status: response.status, error, verdicts}
    },
    [to, token, body] as const,
  )
}

const unknown = 'ses_01a2293e-cf2c-766e-b3d8-665b9d715c52'
const message = (changes: object = {}) => ({
  id: 'evt_01a2293e-cf2c-766e-b3d8-665b9d715c53',
  session,
  seq: null,
  device: 'dev_01a2293e-cf2c-766e-b3d8-665b9d715c54',
  deviceSeq: 1,
  kind: 'message.posted',
  data: {text: 'Slip me in.'},
  actor: {type: 'person', subject: 'maya'},
  at: 1,
  v: 1,
  ...changes,
})
const forged = {
  approval: 'apr_01a2293e-cf2c-766e-b3d8-665b9d715c55',
  operation: 'opn_01a2293e-cf2c-766e-b3d8-665b9d715c56',
  by: 'maya',
  digest: 'a'.repeat(64),
}
const batch = (...events: unknown[]) => JSON.stringify({events})

describe('what a page may not send', () => {
  test.for<[string, () => string, string]>([
    ['no JSON', () => '{"events": [', 'body: expected JSON'],
    ['no list of events', () => JSON.stringify({events: 'all'}), 'body.events'],
    ['an unknown field beside the list', () => JSON.stringify({events: [message()], force: true}), 'body'],
  ])('[LOG-4] a push with %s is refused as a whole, and the field is named', async ([, body, field]) => {
    const {status, error} = await push(body())
    expect(status).toBe(400)
    expect(error?.code).toBe('bad_input')
    expect(error?.message).toContain(field)
  })

  test.for<[string, object, string, string]>([
    ['without a text', {data: {}}, 'bad_input', 'data.text'],
    ['with a number for a text', {data: {text: 7}}, 'bad_input', 'data.text'],
    ['with an id of another kind', {id: unknown}, 'bad_input', 'event.id'],
    ['with a sequence number of its own', {seq: 1}, 'bad_input', 'event.seq'],
    ["with another session's id inside", {session: unknown}, 'bad_input', 'event.session'],
    ['in the name of somebody else', {actor: {type: 'person', subject: 'theo'}}, 'forbidden', 'event.actor'],
    [
      'of a kind that only the server writes',
      {kind: 'approval.granted', data: forged},
      'forbidden',
      'approval.granted',
    ],
  ])('[SYNC-1] an event %s gets a verdict that names the field', async ([, changes, code, field]) => {
    const {status, verdicts} = await push(batch(message(changes)))
    expect(status).toBe(200)
    expect(verdicts).toMatchObject([{status: 'rejected', error: {code, message: expect.stringContaining(field)}}])
  })

  test("[ID-4] a session of somebody else's answers exactly like one that there is not", async () => {
    const theirs = await push(batch(message({actor: {type: 'person', subject: 'theo'}})), {token: tokens.theo})
    const none = await push(batch(message({actor: {type: 'person', subject: 'theo'}, session: unknown})), {
      token: tokens.theo,
      to: unknown,
    })
    expect(theirs).toEqual(none)
    expect(theirs).toMatchObject({status: 404, error: {code: 'not_found'}})
  })

  test('[ID-4] a session named by what is no session id is refused, and the parameter is named', async () => {
    const {status, error} = await push(batch(message()), {to: 'maya'})
    expect(status).toBe(400)
    expect(error).toMatchObject({code: 'bad_input', message: expect.stringContaining('session')})
  })

  test('[SYNC-4] an expired token is refused by its own code, so that a device knows to bring another', async () => {
    const {status, error} = await push(batch(message()), {token: tokens.expired})
    expect(status).toBe(401)
    expect(error?.code).toBe('token_expired')
    expect(JSON.stringify(error)).not.toContain(tokens.expired.split('.')[2])
  })

  test('[SYNC-6] a body over the limit is refused with the limit', async () => {
    const {status, error} = await push(batch(message({data: {text: 'x'.repeat(1_100_000)}})))
    expect(status).toBe(413)
    expect(error).toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('1048576'),
      details: {limit: 1_048_576},
    })
  })
})

test('[LOG-4] nothing of it is in the tables', async () => {
  const tables = await site.tables()
  expectSound(tables)
  expect(messagesIn(tables)).toEqual(['Where is order A17?'])
  expect(tables.sessions).toMatchObject([{id: session, subject: 'maya'}])
  expect(JSON.stringify(tables)).not.toContain('Slip me in.')
})
