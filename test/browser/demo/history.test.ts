import type {Page} from 'playwright-core'
import {beforeAll, expect, test} from 'vitest'
import {faultsOf} from './support/axe.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, say, switchConnection, untilBarSays} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})
const said = 70
let desk: Page

beforeAll(async () => {
  desk = await site.openTab()
  await untilBarSays(desk, 'Connected')
  await switchConnection(desk, false)
  await newConversation(desk, 'Where is order A17? Number 0')
  for (let i = 1; i <= said; i++) await say(desk, `Number ${i}`)
  await untilBarSays(desk, 'Done')
})

const bubbles = (page: Page) => page.locator('.bubble').allTextContents()

test('a long conversation shows its latest entries, offline, and the earlier ones by keyboard, each once', async () => {
  await desk.reload()
  const more = desk.getByRole('button', {name: 'Show earlier'})
  await more.waitFor()
  expect(await desk.locator('.entries > .entry').count()).toBeLessThanOrEqual(101)
  expect((await bubbles(desk)).at(-1)).toBe(`Number ${said}`)
  while ((await more.count()) > 0) {
    const before = await desk.locator('.entries > .entry').count()
    await more.press('Enter')
    await expect.poll(() => desk.locator('.entries > .entry').count()).toBeGreaterThan(before)
  }
  const texts = await bubbles(desk)
  expect(texts).toEqual(['Where is order A17? Number 0', ...Array.from({length: said}, (_, i) => `Number ${i + 1}`)])
})

test('what is read keeps its place while earlier entries come in above it', async () => {
  await desk.reload()
  const more = desk.getByRole('button', {name: 'Show earlier'})
  await more.waitFor()
  const first = desk.locator('.entries > .entry').first()
  const text = await first.textContent()
  await desk.locator('.conversation').evaluate(element => element.scrollTo(0, 0))
  const same = desk
    .locator('.entries > .entry')
    .filter({hasText: text ?? ''})
    .first()
  const top = (await same.boundingBox())?.y ?? 0
  const before = await desk.locator('.entries > .entry').count()
  await more.press('Enter')
  await expect.poll(() => desk.locator('.entries > .entry').count()).toBeGreaterThan(before)
  const now = desk.locator('.entries > .entry').nth((await desk.locator('.entries > .entry').count()) - before)
  expect(Math.abs(((await now.boundingBox())?.y ?? 0) - top)).toBeLessThan(60)
})

test('it has no serious or critical accessibility fault', async () => {
  expect(await faultsOf(desk)).toEqual([])
})
