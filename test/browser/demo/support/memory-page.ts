import type {Page} from 'playwright-core'

/** The memory page as Maya sees it. */
export async function untilRemembered(memory: Page, text: string): Promise<void> {
  await card(memory, text)
    .getByText(/^(Remembered|Corrected)$/)
    .waitFor()
}

export async function correct(memory: Page, text: string, right: string): Promise<void> {
  await card(memory, text).getByRole('button', {name: 'Correct'}).click()
  await memory.getByLabel('What is right instead?').fill(right)
  await memory.getByRole('button', {name: 'Save'}).click()
  await untilRemembered(memory, right)
}

/** Forgets it for good: the time in which it can be taken back is waited out. */
export async function forget(memory: Page, text: string): Promise<void> {
  await card(memory, text).getByRole('button', {name: 'Forget'}).click()
  const undo = memory.getByRole('button', {name: 'Undo'})
  await undo.waitFor()
  await undo.waitFor({state: 'detached'})
}

function card(memory: Page, text: string) {
  return memory.getByRole('article', {name: text, exact: true})
}
