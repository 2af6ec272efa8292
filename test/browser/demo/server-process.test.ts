import {expect, test} from 'vitest'
import {launchChromium} from '../../support/chromium.ts'
import {startDemo, startInVain} from './support/demo-process.ts'
import {demoSite} from './support/demo-site.ts'
import {newConversation, transcript, untilBarSays, untilSynced} from './support/desk-page.ts'

const site = demoSite({model: 'rules'})

test('[SYNC-4] a second start finds the data again, and a new browser finds the conversation', async () => {
  const desk = await site.openTab()
  await newConversation(desk, 'The mug in A17 arrived broken.')
  await untilBarSays(desk, 'Done')
  await untilSynced(desk)
  const before = await transcript(desk)
  await site.endServer('SIGTERM')
  await site.startServer()

  const other = await launchChromium()
  try {
    const page = await other.context.newPage()
    await page.goto(site.url)
    await page.locator('.session').first().click()
    await untilBarSays(page, 'Done')
    await expect.poll(() => transcript(page)).toEqual(before)
  } finally {
    await other.close()
  }
})

/** What a person reads, a stack would be many; lines of JSON are the server's log. */
function sentencesOf(output: string): string[] {
  return output
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('{'))
}

test('a second server on the same folder says who holds it, and ends', async () => {
  const {code, output} = await startInVain({dataDir: site.dataDir})
  expect(code).toBe(1)
  expect(output).toContain(`The database in ${site.dataDir} is open in process`)
  expect(sentencesOf(output)).toHaveLength(1)
})

test('a server whose port is taken says so, and leaves neither a process nor a lock behind', async () => {
  const dataDir = `${site.dataDir}-beside`
  const port = Number(new URL(site.url).port)
  const {code, output} = await startInVain({dataDir, port})
  expect(code).toBe(1)
  expect(output).toContain(`${port}`)
  expect(sentencesOf(output)).toHaveLength(1)
  const next = await startDemo({dataDir})
  await next.end('SIGTERM')
})
