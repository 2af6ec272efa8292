import type {Page} from 'playwright-core'
import {beforeAll, describe, expect, test} from 'vitest'
import {faultsOf} from './support/axe.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, switchConnection, untilBarSays, untilReply} from './support/desk-page.ts'
import {correct, forget, untilRemembered} from './support/memory-page.ts'

const site = demoSite({model: 'rules'})
let desk: Page
let memory: Page
let told: string

beforeAll(async () => {
  desk = await site.openTab()
  await untilBarSays(desk, 'Connected')
  memory = await site.openTab('/memory')
})

const signing = (name: string) => `I sign replies as ${name}.`

/** Asks for a letter in a conversation of its own, and reads how it ends. */
async function letterOf(page: Page): Promise<string> {
  await newConversation(page, 'Write the reply for A17')
  await untilReply(page, 'The reply is in the draft')
  await untilBarSays(page, 'Done')
  return (await page.getByLabel('Reply to the customer').inputValue()).split('\n').at(-1) ?? ''
}

async function lastReply(page: Page): Promise<string> {
  return (await page.locator('.entry-reply .prose').last().textContent()) ?? ''
}

describe('what is remembered', () => {
  test('[MEM-2] is told in one conversation, and stands on the memory page with where it comes from', async () => {
    await newConversation(desk, `Remember that ${signing('Maya Lind')}`)
    await untilReply(desk, 'I propose it to your memory')
    told = new URL(desk.url()).search
    await untilRemembered(memory, signing('Maya Lind'))
    await memory.getByRole('link', {name: 'this conversation'}).waitFor()
    expect(await faultsOf(memory)).toEqual([])
  })

  test('[MEM-1] [MEM-3] is used in the next one, which says so and leads back to where it was said', async () => {
    expect(await letterOf(desk)).toBe('Maya Lind, Fernweh Outfitters')
    expect(await lastReply(desk)).toContain(`From memory: “${signing('Maya Lind')}”`)
    await desk.locator('.entry-reply').last().getByRole('link', {name: 'where it comes from'}).click()
    await desk.waitForURL(url => url.search === told)
    await untilReply(desk, 'I propose it to your memory')
  })

  test('[MEM-3] counts as it was corrected, and no longer as it was', async () => {
    await correct(memory, signing('Maya Lind'), signing('M. Lind'))
    expect(await letterOf(desk)).toBe('M. Lind, Fernweh Outfitters')
    expect(await lastReply(desk)).not.toContain('Maya Lind')
  })

  test('[MEM-4] is corrected and used without a connection too', async () => {
    await switchConnection(desk, false)
    await correct(memory, signing('M. Lind'), signing('Maya of the service team'))
    await memory.getByText('the server has not heard of it yet').waitFor()
    expect(await letterOf(desk)).toBe('Maya of the service team, Fernweh Outfitters')
    await desk.reload()
    await untilBarSays(desk, 'Offline by choice')
    expect(await letterOf(desk)).toBe('Maya of the service team, Fernweh Outfitters')
  })

  test('[MEM-3] [MEM-4] forgotten offline it is used no more, now and when the server is back', async () => {
    await forget(memory, signing('Maya of the service team'))
    expect(await letterOf(desk)).toBe('Maya, Fernweh Outfitters')
    expect(await lastReply(desk)).not.toContain('From memory')
    await switchConnection(desk, true)
    await memory.getByRole('heading', {name: 'Nothing is remembered yet'}).waitFor()
    expect(await letterOf(desk)).toBe('Maya, Fernweh Outfitters')
  })
})
