import type {Page} from 'playwright-core'
import {expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {newConversation, untilBarSays} from './support/desk-page.ts'
import {untilAsked} from './support/inbox-page.ts'

const site = demoSite({model: 'rules'})

async function untilNobody(inbox: Page): Promise<void> {
  await inbox.getByRole('heading', {name: 'Theo is signed out'}).waitFor()
  expect(await inbox.getByRole('article').count()).toBe(0)
  expect(await inbox.evaluate(() => document.body.textContent ?? '')).not.toContain('B22')
}

async function panelOf(desk: Page) {
  await desk.getByRole('tab', {name: 'This device'}).click()
  return desk.getByRole('region', {name: 'Person'})
}

test('[ID-6] a sign-out ends the approvals of that person in every tab, and of nobody else', async () => {
  const desk = await site.openTab()
  await untilBarSays(desk, 'Connected')
  await newConversation(desk, 'Order B22 arrived damaged, refund it.')
  const theos = [await site.openTab('/inbox?as=theo'), await site.openTab('/inbox?as=theo')] as const
  const ines = await site.openTab('/inbox?as=ines')
  for (const inbox of [...theos, ines]) await untilAsked(inbox, 'B22')
  await theos[0].getByRole('button', {name: 'Sign out'}).click()
  for (const inbox of theos) await untilNobody(inbox)
  await untilAsked(ines, 'B22')
  await theos[1].reload()
  await untilNobody(theos[1])
  await theos[1].getByRole('button', {name: 'Sign in as Theo'}).click()
  for (const inbox of theos) await untilAsked(inbox, 'B22')

  await (await panelOf(desk)).getByRole('combobox').selectOption('theo')
  await (await panelOf(desk)).getByText('Theo is signed in.').waitFor()
  await (await panelOf(desk)).getByRole('button', {name: 'Sign out'}).click()
  for (const inbox of theos) await untilNobody(inbox)
  await untilAsked(ines, 'B22')

  await desk.getByRole('button', {name: 'Theo, Team lead'}).click()
  await (await panelOf(desk)).getByText('Theo is signed in.').waitFor()
  await untilAsked(theos[0], 'B22')
  await theos[0].getByRole('button', {name: 'Sign out'}).click()
  await untilNobody(theos[1])
  await desk.getByRole('heading', {name: 'You are signed out'}).waitFor()
})

test('the shop shows the same whoever is signed in, and says so', async () => {
  const shop = await site.openTab('/shop')
  await shop.getByRole('table', {name: 'Orders'}).waitFor()
  await shop.getByText('They belong to no person').waitFor()
  await shop.close()
})
