import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {testDevice} from '../../sync-server/support/device.ts'
import {faultsOf} from './support/axe.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, switchConnection, untilBarSays, untilRefund, untilSynced} from './support/desk-page.ts'
import {untilAsked} from './support/inbox-page.ts'

const site = demoSite({model: 'rules'})
let desk: Page
let inbox: Page

beforeAll(async () => {
  desk = await site.openTab()
  await untilBarSays(desk, 'Connected')
  inbox = await site.openTab('/inbox')
})

const dialog = () => desk.getByRole('alertdialog', {name: 'Close this conversation for good?'})
const composer = () => desk.getByLabel('Message to the agent')

/** By keyboard alone. */
async function askToClose(): Promise<void> {
  await desk.getByRole('button', {name: 'More about this conversation'}).press('Enter')
  await desk.getByRole('menuitem', {name: 'Close for good …'}).press('Enter')
  await dialog().waitFor()
}

async function close(reason: string): Promise<void> {
  await askToClose()
  await dialog().getByLabel('Reason (optional)').fill(reason)
  await dialog().getByRole('button', {name: 'Close for good'}).press('Enter')
  await dialog().waitFor({state: 'detached'})
  await desk.getByText('This conversation is closed').waitFor()
}

describe('closing a conversation for good', () => {
  test('[RUN-9] says what it does to this one, can be taken back until then, and has no accessibility fault', async () => {
    await newConversation(desk, 'Order B22 arrived damaged, refund it.')
    await untilRefund(desk, 'B22', 'Waiting for approval')
    await askToClose()
    await dialog().getByText('The refund of €213.50 for B22 is withdrawn, if it has not started by then.').waitFor()
    expect(await faultsOf(desk)).toEqual([])
    await dialog().getByRole('button', {name: 'Keep it open'}).press('Enter')
    await dialog().waitFor({state: 'detached'})
    expect(await composer().isEnabled()).toBe(true)
  })

  test('[RUN-1] [RUN-4] withdraws what has not started, takes no more message, and says so everywhere', async () => {
    await untilAsked(inbox, 'B22')
    await close('The customer sent it back.')
    await untilRefund(desk, 'B22', 'Withdrawn')
    await desk.getByText('Closed for good: The customer sent it back.').waitFor()
    await inbox.getByText('Withdrawn').first().waitFor()
    expect(await composer().count()).toBe(0)
    await desk.getByRole('button', {name: 'More about this conversation'}).press('Enter')
    const item = desk.getByRole('menuitem', {name: 'Close for good (it is closed already)'})
    expect(await item.getAttribute('aria-disabled')).toBe('true')
    await desk.keyboard.press('Escape')
    await item.waitFor({state: 'detached'})
    expect(await faultsOf(desk)).toEqual([])
  })

  test('[SYNC-5] [SYNC-2] without a connection counts here, says what that is worth, and what was typed goes on elsewhere', async () => {
    await newConversation(desk, 'Where is order A17?')
    await untilBarSays(desk, 'Done')
    await untilSynced(desk)
    await composer().fill('And B22, too')
    await switchConnection(desk, false)
    await askToClose()
    await dialog().getByText('The server is out of reach').waitFor()
    await dialog().getByRole('button', {name: 'Close for good'}).press('Enter')
    await desk.getByText('the server has not heard of it yet').waitFor()
    await desk.reload()
    await desk.getByText('the server has not heard of it yet').waitFor()
    await switchConnection(desk, true)
    await desk.getByText('It can be read and branched from.').waitFor()
    await desk.getByRole('button', {name: 'Go on in a new one, with what you typed'}).press('Enter')
    await desk.waitForURL(url => url.searchParams.get('session') === null)
    expect(await composer().inputValue()).toBe('And B22, too')
    await composer().fill('')
  })

  test('[SYNC-2] closed elsewhere in the meantime, the second closing is refused by the server and stays to be seen', async () => {
    await newConversation(desk, 'Where is order A17?')
    await untilBarSays(desk, 'Done')
    await untilSynced(desk)
    await switchConnection(desk, false)
    const {token} = (await (await fetch(`${site.url}/demo/token?as=maya`)).json()) as {token: string}
    const session = new URL(desk.url()).searchParams.get('session')
    const other = testDevice({tenant: 'fernweh', subject: 'maya'}, session as never)
    const answer = await fetch(`${site.url}/v1/sessions/${session}/events`, {
      method: 'POST',
      headers: {authorization: `Bearer ${token}`, 'content-type': 'application/json', 'holdfast-protocol': '1'},
      body: JSON.stringify({events: [other.event('session.closed', {reason: 'Closed on the phone.'})]}),
    })
    expect(await answer.json()).toMatchObject({verdicts: [{status: 'accepted'}]})
    await close('Closed on the desk.')
    await switchConnection(desk, true)
    await desk.getByText('The server refused one entry.').waitFor()
    await desk.getByText('Closed for good: Closed on the phone.').waitFor()
  })

  test('[RUN-6] can be branched from, and the branch is open', async () => {
    await desk.locator('.entry-message').first().getByRole('button', {name: 'More about this entry'}).press('Enter')
    await desk.getByRole('menuitem', {name: 'Branch from here'}).press('Enter')
    await composer().waitFor()
    await say(desk, 'Where is order A17?')
    await untilBarSays(desk, 'Done')
  })
})
