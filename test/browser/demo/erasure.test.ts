import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../../runtime/protocol/erasure.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, switchConnection, untilBarSays, untilRefund, untilSynced} from './support/desk-page.ts'
import {untilAsked} from './support/inbox-page.ts'
import {placesWith} from './support/scan-storage.ts'

const site = demoSite({model: 'rules'})
let desk: Page
let inbox: Page

beforeAll(async () => {
  desk = await site.openTab()
  await untilBarSays(desk, 'Connected')
  inbox = await site.openTab('/inbox')
})

const asMaya = async (path: string, body?: object) => {
  const {token} = (await (await fetch(`${site.url}/demo/token?as=maya`)).json()) as {token: string}
  const answer = await fetch(site.url + path, {
    method: body ? 'POST' : 'GET',
    headers: {authorization: `Bearer ${token}`, 'content-type': 'application/json', 'holdfast-protocol': '1'},
    ...(body && {body: JSON.stringify(body)}),
  })
  expect(answer.status).toBe(200)
  return (await answer.json()) as ErasureReceipt
}

const sessionOf = (page: Page) => new URL(page.url()).searchParams.get('session') ?? ''

async function untilPurged({erasure}: ErasureReceipt): Promise<void> {
  await expect.poll(async () => (await asMaya(`/v1/erasures/${erasure}`)).outstanding.devices).toEqual([])
}

/** A conversation with these words in message, title, reply, plan, tool input, operation, approval and unsent text. */
async function conversation(words: string, order: string): Promise<string> {
  await newConversation(desk, `${words} is what I call it`)
  await untilBarSays(desk, 'Done')
  await say(desk, `Refund 60 € of ${order} because of ${words}`)
  await untilRefund(desk, order, 'Waiting for approval')
  await desk.getByLabel('Reply to the customer').fill(`Dear ${words}, `.repeat(400))
  await desk.getByRole('tab', {name: 'Plan'}).click()
  await desk.getByLabel('Plan for this case').fill(`Write to ${words}`)
  await desk.getByRole('tab', {name: 'Reply'}).click()
  await desk.getByLabel('Message to the agent').fill(`${words} is not sent yet`)
  await untilSynced(desk)
  return sessionOf(desk)
}

describe('the storage of the browser', () => {
  const erased = 'Canary-of-the-conversation-that-goes'
  const kept = 'Canary-of-the-conversation-that-stays'
  let gone: string

  test('[RET-3] holds the words in files, records and unsent text: the scan can find them', async () => {
    await conversation(kept, 'B22')
    gone = await conversation(erased, 'C09')
    await untilAsked(inbox, 'C09')
    const places = await placesWith(desk, erased)
    expect(places.some(place => place.startsWith('opfs/'))).toBe(true)
    expect(places).toContain('localStorage')
    expect(places).toContain('indexeddb/holdfast-inbox-theo/kept')
  })

  test('[RET-3] holds no byte of an erased conversation, and everything of the other', async () => {
    const receipt = await asMaya('/v1/erasures', {session: gone})
    await desk.getByText('This conversation was erased on request.').first().waitFor()
    await untilPurged(receipt)
    await expect.poll(() => placesWith(desk, erased)).toEqual([])
    expect(await placesWith(desk, kept)).not.toEqual([])
    await desk.reload()
    await desk.getByText('This conversation was erased on request.').first().waitFor()
    expect(await placesWith(desk, erased)).toEqual([])
  })

  test('[RET-3] after a subject is erased holds nothing of what a device that was away had, either', async () => {
    await switchConnection(desk, false)
    await newConversation(desk, `${kept} once more, offline`)
    await untilBarSays(desk, 'Done')
    const receipt = await asMaya('/v1/erasures', {subject: 'maya'})
    await switchConnection(desk, true)
    await untilPurged(receipt)
    await expect.poll(() => placesWith(desk, kept)).toEqual([])
  })
})
