import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {launchChromium} from '../../support/chromium.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, switchConnection, untilBarSays, untilSynced} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})
let a: Page
let b: Page

beforeAll(async () => {
  a = await site.openTab()
  await untilBarSays(a, 'Connected')
})

type Name = 'Reply' | 'Plan'
const labels = {Reply: 'Reply to the customer', Plan: 'Plan for this case'}

async function editor(page: Page, name: Name) {
  await page.getByRole('tab', {name, exact: true}).click()
  return page.getByLabel(labels[name])
}

async function textOf(page: Page, name: Name): Promise<string> {
  return await (await editor(page, name)).inputValue()
}

/** As a person does it, at one end of what stands there. */
async function type(page: Page, name: Name, where: 'Home' | 'End', text: string): Promise<void> {
  const field = await editor(page, name)
  await expect.poll(() => field.inputValue()).not.toBe('')
  await field.press(`Control+${where}`)
  await page.keyboard.type(text)
}

async function bothShow(pages: Page[], name: Name, parts: string[]): Promise<string> {
  let shown = ''
  await expect
    .poll(async () => {
      const texts = await Promise.all(pages.map(page => textOf(page, name)))
      shown = texts[0] ?? ''
      return texts.every(text => text === shown && parts.every(part => text.split(part).length === 2))
    })
    .toBe(true)
  return shown
}

describe('plan and reply, written by the agent and the person at once, in two tabs without a connection', () => {
  const byPerson = {
    before: 'Case of Lena Brandt.',
    while: 'Ask for a photo of the mug before anything is paid. ',
    plan: ['First call Lena.\n', 'Last thank her.'],
    reply: ['[Checked by Maya] ', '\nP.S. The blanket is on us.'],
  } as const
  let plan: string
  let reply: string

  test('[WRK-2] converge in both tabs, whoever typed at the same time', async () => {
    await newConversation(a, 'Where is order A17?')
    await untilBarSays(a, 'Done')
    await untilSynced(a)
    b = await site.openTab(`/${new URL(a.url()).search}`)
    await untilBarSays(b, 'Done')
    await switchConnection(a, false)
    await untilBarSays(b, 'Offline by choice')
    const planOfB = await editor(b, 'Plan')
    await planOfB.fill(byPerson.before)
    await bothShow([a, b], 'Plan', [byPerson.before])
    await planOfB.press('Control+Home')
    // Key by key, so that the agent's steps come in between; not where it writes, where either may come first.
    await Promise.all([say(a, 'The mug in A17 arrived broken.'), b.keyboard.type(byPerson.while, {delay: 70})])
    await bothShow([a, b], 'Reply', ['€18.00'])
    await bothShow([a, b], 'Plan', ['Refund €18.00 for A17', byPerson.while + byPerson.before])
    await Promise.all([type(a, 'Plan', 'Home', byPerson.plan[0]), type(b, 'Plan', 'End', byPerson.plan[1])])
    plan = await bothShow([a, b], 'Plan', [...byPerson.plan, byPerson.while, 'Refund €18.00 for A17'])
    await Promise.all([type(a, 'Reply', 'Home', byPerson.reply[0]), type(b, 'Reply', 'End', byPerson.reply[1])])
    reply = await bothShow([a, b], 'Reply', [...byPerson.reply, '€18.00'])
  })

  test('[WRK-2] survive a reload of both', async () => {
    await Promise.all([a.reload(), b.reload()])
    expect(await bothShow([a, b], 'Plan', [...byPerson.plan])).toBe(plan)
    expect(await bothShow([a, b], 'Reply', [...byPerson.reply])).toBe(reply)
  })

  test('[WRK-2] [SYNC-3] are on a second device of hers, which opens the conversation by its address', async () => {
    await switchConnection(a, true)
    await untilSynced(a)
    const phone = await launchChromium()
    try {
      const page = await phone.context.newPage()
      await page.goto(a.url())
      expect(await bothShow([a, page], 'Plan', [...byPerson.plan])).toBe(plan)
      expect(await bothShow([a, page], 'Reply', [...byPerson.reply])).toBe(reply)
    } finally {
      await phone.close()
    }
  })
})
