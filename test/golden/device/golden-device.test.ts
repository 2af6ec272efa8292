import {mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, describe, expect, test} from 'vitest'
import {openRuntime} from '../../../runtime/node.ts'
import {scriptedModel} from '../../../runtime/testing.ts'
import {desk, deskTools} from '../../support/desk.ts'
import {MemoryOpfs} from '../../support/memory-opfs.ts'
import {packFiles, unpackFiles, writeFolder} from '../../support/pack-files.ts'
import {openOpfsRuntime} from './opfs-runtime.ts'
import {words} from './scene.ts'
import {type Golden, type Layout, writeGolden} from './write-golden.ts'

/**
 * Databases of devices as earlier builds left them, in both layouts, each with an approval that is open, a run that is not
 * finished and events that the server does not have. Every build has to open all of them and go on. [LOG-8, LOG-9]
 *
 * To add those of a version that is released, run in its checkout
 * `HOLDFAST_GOLDEN=<date>-<name> npx vitest run --project node test/golden/device`, and commit the four files that this
 * writes. A version without this folder needs a copy of it, in which `opfs-runtime.ts` opens as that version does. An
 * existing file is never changed. `base-postgres-18.pages` has the pages that all of them share; with another version of
 * Postgres begin another one, by `packBase` of the files of a device of that version.
 */
const folder = new URL('./', import.meta.url)
const stored = readdirSync(folder).flatMap(file => (file.endsWith('.br') ? [file.slice(0, -'.br'.length)] : []))
const base = readFileSync(new URL('base-postgres-18.pages', folder))
const layouts: Layout[] = ['node', 'browser']

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function readGolden(name: string): Golden {
  const ids = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Golden['ids']
  return {files: unpackFiles(readFileSync(new URL(`${name}.br`, folder)), base), ids}
}

async function openGolden(layout: Layout, {files}: Golden) {
  const model = scriptedModel([{text: 'It is written down.'}])
  if (layout === 'browser') {
    const opfs = new MemoryOpfs()
    for (const [path, bytes] of files) if (bytes) opfs.overwrite(path, bytes)
    return openOpfsRuntime(opfs, model, null)
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-golden-'))
  closing.push(async () => rmSync(dataDir, {recursive: true}))
  writeFolder(dataDir, files)
  return openRuntime({agent: desk, model, tools: deskTools, dataDir, retryDelayMs: 1})
}

/** It opens, everything that was there is there, and the run goes on. */
async function expectWhole(layout: Layout, golden: Golden): Promise<void> {
  const runtime = await openGolden(layout, golden)
  closing.push(() => runtime.close())
  const waiting = await (await runtime.openSession({session: golden.ids.waiting})).settled()
  expect(waiting).toMatchObject({status: 'waiting_for_approval', pending: 1, rejected: 0, storageFault: null})
  expect(JSON.stringify(waiting.entries)).toContain(words.waiting)
  expect(JSON.stringify(waiting.entries)).toContain(words.late)

  const session = await runtime.openSession({session: golden.ids.working})
  const finished = await session.settled()
  expect(finished).toMatchObject({status: 'completed', rejected: 0, storageFault: null})
  expect(finished.pending).toBeGreaterThan(5)
  expect(finished.entries.map(({type}) => type)).toEqual(['message', 'reply', 'tool', 'reply'])
  expect(JSON.stringify(finished.entries)).toContain('It is written down.')
}

test('there are databases of both layouts', () => {
  for (const layout of layouts) expect(stored.filter(name => name.endsWith(layout)).length).toBeGreaterThanOrEqual(2)
})

describe.each(stored)('a database of the build %s', name => {
  test('[LOG-8] it opens, shows all that was there and finishes its run', async () => {
    await expectWhole(name.endsWith('browser') ? 'browser' : 'node', readGolden(name))
  })
})

describe.each(layouts)('a database of this build in the layout of %s', layout => {
  test('[LOG-8] it opens, shows all that was there and finishes its run', async () => {
    const golden = await writeGolden(layout)
    const name = process.env.HOLDFAST_GOLDEN
    if (name) {
      writeFileSync(new URL(`${name}-${layout}.br`, folder), packFiles(golden.files, base))
      writeFileSync(new URL(`${name}-${layout}.json`, folder), `${JSON.stringify(golden.ids)}\n`)
    }
    await expectWhole(layout, golden)
  })
})
