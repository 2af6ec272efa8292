import type {Page} from 'playwright-core'

/** Theo approves the refund of this order, which he has to see first. */
export async function approve(inbox: Page, order: string): Promise<void> {
  const card = inbox.getByRole('article', {name: new RegExp(`for order ${order}$`)})
  await card.getByRole('button', {name: /^Approve/}).click()
}

export async function untilAsked(inbox: Page, order: string): Promise<void> {
  await inbox.getByRole('article', {name: new RegExp(`for order ${order}$`)}).waitFor()
}
