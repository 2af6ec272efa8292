import type {Page} from 'playwright-core'

/** The desk as Maya sees it: every function does or reads what a person would. */
export async function say(page: Page, text: string): Promise<void> {
  const composer = page.getByLabel('Message to the agent')
  await composer.fill(text)
  await composer.press('Enter')
  // The field is emptied when the message is durable, not before.
  await page.waitForFunction(() => document.querySelector<HTMLTextAreaElement>('#composer-text')?.value === '')
}

export async function newConversation(page: Page, text: string): Promise<void> {
  await page.getByRole('button', {name: 'New conversation'}).click()
  await page.waitForURL(url => url.searchParams.get('session') === null)
  await say(page, text)
  await page.waitForURL(url => url.searchParams.get('session') !== null)
}

/** Waits until the bar above the conversation says so: 'Done', 'Waiting for approval', 'Connected', … */
export async function untilBarSays(page: Page, words: string): Promise<void> {
  await page.locator('.desk-bar-facts').getByText(words, {exact: true}).waitFor()
}

/** Waits until the reply under way shows these words. */
export async function untilStreaming(page: Page, text: string): Promise<void> {
  await page.locator('.entry-streaming').filter({hasText: text}).waitFor()
}

/** Waits until the agent has said this, to the end. */
export async function untilReply(page: Page, text: string): Promise<void> {
  await page.locator('.entry-reply:not(.entry-streaming) .prose').filter({hasText: text}).last().waitFor()
}

export async function killWorker(page: Page): Promise<void> {
  await openDevicePanel(page)
  await page.getByRole('button', {name: 'Kill the worker'}).click()
}

export async function switchConnection(page: Page, online: boolean): Promise<void> {
  await openDevicePanel(page)
  await page.getByRole('switch', {name: 'Connection to the server'}).click()
  if (online) await untilBarSays(page, 'Connected')
  else await untilBarSays(page, 'Offline by choice')
}

export async function untilRole(page: Page, role: 'leader' | 'follower'): Promise<void> {
  await openDevicePanel(page)
  await page
    .getByText(role === 'leader' ? 'This tab runs the agent and owns the database.' : 'Another tab runs the agent')
    .waitFor()
}

async function openDevicePanel(page: Page): Promise<void> {
  await page.getByRole('tab', {name: 'This device'}).click()
}

/** The conversation line by line, the reply under way left out. */
export async function transcript(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const words = (element: Element | null | undefined) => (element?.textContent ?? '').trim()
    const lines = [...document.querySelectorAll('.entries > .entry:not(.entry-streaming)')]
    return lines.map(line => {
      const refund = line.querySelector('section.refund')?.getAttribute('aria-label')
      if (refund) return refund
      if (line.querySelector('details.tool')) return words(line.querySelector('summary > span'))
      if (line.matches('.entry-message')) return `Maya: ${words(line.querySelector('.bubble'))}`
      if (line.matches('.entry-reply')) return `Agent: ${words(line.querySelector('.prose'))}`
      return words(line)
    })
  })
}

/** Waits until that refund's card tells this state: 'Refunded', 'Withdrawn', … */
export async function untilRefund(page: Page, order: string, state: string): Promise<void> {
  await page.locator(`section.refund[aria-label$="for order ${order}: ${state}"]`).waitFor()
}

/** Waits until every line of the conversation is with the server. */
export async function untilSynced(page: Page): Promise<void> {
  await page.locator('.entries').waitFor()
  await page.locator('.entries .mark-device').first().waitFor({state: 'detached'})
}
