import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {serverEnvironment as env} from '../../../sync-server/index.ts'
import {faultsOf} from './support/axe.ts'
import {demoSite} from './support/demo-site.ts'
import {
  newConversation,
  say,
  switchConnection,
  transcript,
  untilBarSays,
  untilReply,
  untilSynced,
} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})
let desk: Page

beforeAll(async () => {
  desk = await site.openTab()
  // A first open takes its time; no call's deadline is to run while it does.
  await untilBarSays(desk, 'Connected')
})

const asked = 'Where is order A17?'
const card = () => desk.getByRole('region', {name: 'Work done apart'})

/** Another device of Maya's takes the conversation over, and does nothing with it. */
async function takenElsewhere(session: string): Promise<void> {
  const {token} = (await (await fetch(`${site.url}/demo/token?as=maya`)).json()) as {token: string}
  const answer = await fetch(`${site.url}/v1/sessions/${session}/custody`, {
    method: 'POST',
    headers: {authorization: `Bearer ${token}`, 'content-type': 'application/json', 'holdfast-protocol': '1'},
    body: JSON.stringify({device: env.id('device'), sawEpoch: 1}),
  })
  expect(answer.status).toBe(200)
}

async function press(name: string): Promise<void> {
  const button = desk.getByRole('button', {name})
  await button.focus()
  await desk.keyboard.press('Enter')
}

describe('work that this device did apart', () => {
  let original: string
  let session: string

  test('[SYNC-5] goes on here while the server is out of reach', async () => {
    await newConversation(desk, asked)
    await untilBarSays(desk, 'Done')
    await untilSynced(desk)
    original = desk.url()
    session = new URL(original).searchParams.get('session') ?? ''
    await switchConnection(desk, false)
    await say(desk, asked)
    await untilReply(desk, "from this device's copy")
    await untilBarSays(desk, 'Done')
  })

  test('[CUS-4] waits on a card once another device has taken over, in light and dark, on a phone and on a desk', async () => {
    await takenElsewhere(session)
    await switchConnection(desk, true)
    await card().waitFor()
    expect(await card().textContent()).toContain('Your own messages are.')
    expect(await faultsOf(desk)).toEqual([])
  })

  test('[CUS-4] [SYNC-2] is put away and brought back by keyboard', async () => {
    await press('Put it away')
    await card().waitFor({state: 'detached'})
    expect((await transcript(desk)).some(line => line.includes("from this device's copy"))).toBe(false)
    await press('Bring it back')
    await card().waitFor()
  })

  test('[CUS-4] is kept as a branch by keyboard, and the original says where it went', async () => {
    await press('Keep as a branch')
    await desk.waitForURL(url => url.searchParams.get('session') !== session)
    await untilReply(desk, "from this device's copy")
    await untilSynced(desk)
    await desk.goto(original)
    await desk.getByRole('button', {name: 'Open the branch'}).waitFor()
  })
})

test('[CUS-4] without the server the page offers to go on here, and the server grants it afterwards', async () => {
  await desk.getByRole('button', {name: 'Take over here'}).waitFor()
  const replies = desk.locator('.entry-reply:not(.entry-streaming) .prose').filter({hasText: "from this device's copy"})
  const before = await replies.count()
  await switchConnection(desk, false)
  // Custody that nobody uses moves by itself, so the offer may be gone before it is pressed.
  const offer = desk.getByRole('button', {name: 'Continue here offline'})
  await expect
    .poll(async () => {
      if (await offer.isVisible()) await offer.press('Enter', {timeout: 5000}).catch(() => undefined)
      return await replies.count()
    })
    .toBeGreaterThan(before)
  await switchConnection(desk, true)
  await untilSynced(desk)
  await desk.getByRole('button', {name: 'Take over here'}).waitFor({state: 'detached'})
})
