import type {Page} from 'playwright-core'
import {beforeAll, expect, test} from 'vitest'
import {faultsOf} from './support/axe.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, switchConnection, untilBarSays, untilReply} from './support/desk-page.ts'

const site = demoSite({model: 'scripted'})
/** Messages, each with one reply: more entries than a view holds. */
const said = 60
const texts = Array.from({length: said}, (_, i) => `Message number ${String(i + 1).padStart(3, '0')}`)
let desk: Page

beforeAll(async () => {
  for (const text of texts) site.model.replies.set(text, `Answer to ${text}.`)
  desk = await site.openTab()
  await untilBarSays(desk, 'Connected')
  for (const [i, text] of texts.entries()) {
    await (i === 0 ? newConversation(desk, text) : say(desk, text))
    await untilReply(desk, `Answer to ${text}.`)
  }
  await untilBarSays(desk, 'Done')
  await switchConnection(desk, false)
})

const entries = (page: Page) => page.locator('.entries > .entry')
const showEarlier = (page: Page) => page.getByRole('button', {name: 'Show earlier'})

async function reloaded(): Promise<number> {
  await desk.reload()
  await untilReply(desk, `Answer to ${texts.at(-1)}.`)
  await showEarlier(desk).waitFor()
  return await entries(desk).count()
}

/** Where the entry that stands so many before the last is on the screen. */
const topOf = (page: Page, beforeLast: number) =>
  page.evaluate(place => {
    const all = [...document.querySelectorAll('.entries > .entry')]
    const entry = all[all.length - 1 - place]
    return {text: entry?.textContent ?? '', top: Math.round(entry?.getBoundingClientRect().top ?? 0)}
  }, beforeLast)

test('a long conversation shows its latest entries, offline, and the earlier ones by keyboard, each once', async () => {
  let shown = await reloaded()
  expect(shown).toBeLessThanOrEqual(100)
  while ((await showEarlier(desk).count()) > 0) {
    await showEarlier(desk).press('Enter')
    await expect.poll(() => entries(desk).count()).toBeGreaterThan(shown)
    shown = await entries(desk).count()
    await expect.poll(() => desk.getByRole('button', {name: 'Reading earlier entries'}).count()).toBe(0)
  }
  expect(await desk.locator('.bubble').allTextContents()).toEqual(texts)
})

test.each(['keyboard', 'mouse'])(
  'what is read keeps its place while earlier entries come in above it: %s',
  async by => {
    const shown = await reloaded()
    await desk.locator('.conversation').evaluate(element => element.scrollTo(0, 0))
    const first = shown - 1
    await expect.poll(async () => (await topOf(desk, first)).top).toBeGreaterThan(0)
    const before = await topOf(desk, first)
    await (by === 'mouse' ? showEarlier(desk).click() : showEarlier(desk).press('Enter'))
    await expect.poll(() => entries(desk).count()).toBeGreaterThan(shown)
    expect(await topOf(desk, first)).toEqual(before)
  },
)

test('a reader at the end stays there when the composer grows', async () => {
  await reloaded()
  const hidden = () =>
    desk
      .locator('.conversation')
      .evaluate(element => Math.round(element.scrollHeight - element.scrollTop - element.clientHeight))
  await expect.poll(hidden).toBeLessThanOrEqual(1)
  const composer = desk.getByLabel('Message to the agent')
  const height = async () => (await composer.boundingBox())?.height ?? 0
  const before = await height()
  await composer.fill('One line after another\n'.repeat(12))
  await expect.poll(height).toBeGreaterThan(before)
  await expect.poll(hidden).toBeLessThanOrEqual(1)
  await composer.fill('')
})

test('it has no serious or critical accessibility fault', async () => {
  expect(await faultsOf(desk)).toEqual([])
})
