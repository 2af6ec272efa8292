import {execFile} from 'node:child_process'
import {cp, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {type LaunchedChromium, launchChromium} from '../support/chromium.ts'
import {linkPackage, type PackedProject, packedProject} from '../support/packed-project.ts'
import {readmeBuilds} from '../support/readme-program.ts'
import {serveFolder} from '../support/serve-folder.ts'

const greeter = join(import.meta.dirname, '../package/greeter')
const bundlers = [
  ['webpack', 'run-webpack.mjs'],
  ['esbuild', 'build-with-esbuild.mjs'],
] as const

let project: PackedProject
let browser: LaunchedChromium

beforeAll(async () => {
  project = await packedProject()
  await cp(greeter, project.folder, {recursive: true})
  for (const [name, text] of readmeBuilds()) await writeFile(join(project.folder, name), text)
  for (const [bundler] of bundlers) await linkPackage(project.folder, bundler)
  browser = await launchChromium()
})

afterAll(async () => {
  await browser?.close()
  await project?.remove()
})

test.each(bundlers)('a page built by %s as the README says opens, stores and answers', async (_bundler, script) => {
  const built = join(project.folder, 'dist')
  await rm(built, {recursive: true, force: true})
  await promisify(execFile)(process.execPath, [script], {cwd: project.folder})
  await cp(join(greeter, 'index.html'), join(built, 'index.html'))
  const site = await serveFolder(built)
  const page = await browser.context.newPage()
  try {
    await page.goto(site.url)
    await expect.poll(() => page.title()).toBe('Hi. / Hello.')
  } finally {
    await page.close()
    await site.close()
  }
})
