import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {openRuntime} from '../../../runtime/node.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../../support/desk.ts'
import {MemoryOpfs} from '../../support/memory-opfs.ts'
import {type PackedFiles, readFolder} from '../../support/pack-files.ts'
import {openOpfsRuntime} from './opfs-runtime.ts'
import {person, playScene, sceneModel} from './scene.ts'

export type Layout = 'node' | 'browser'
export type Golden = {files: PackedFiles; ids: Awaited<ReturnType<typeof playScene>>}

/** The files of a device of this build, as the scene leaves them. */
export async function writeGolden(layout: Layout): Promise<Golden> {
  const shop = await openTestServer()
  try {
    return await (layout === 'node' ? inFolder(shop) : inOpfs(shop))
  } finally {
    await shop.close()
  }
}

async function inFolder(shop: TestServer): Promise<Golden> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-golden-'))
  const sync = {link: await shop.link(person.subject), token: await shop.token(person.subject)}
  const model = sceneModel()
  const runtime = await openRuntime({agent: desk, model, tools: deskTools, dataDir, sync, retryDelayMs: 1})
  const ids = await playScene(runtime, model)
  await runtime.close()
  const files = readFolder(dataDir)
  await rm(dataDir, {recursive: true})
  return {files, ids}
}

async function inOpfs(shop: TestServer): Promise<Golden> {
  const opfs = new MemoryOpfs()
  const model = sceneModel()
  const runtime = await openOpfsRuntime(opfs, model, await shop.link(person.subject))
  const ids = await playScene(runtime, model)
  await runtime.close()
  return {files: new Map([...opfs.files].map(([path, {contents}]) => [path, contents])), ids}
}
