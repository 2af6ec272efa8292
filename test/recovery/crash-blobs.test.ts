import {afterAll, beforeAll, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {crashEverywhere, promptModel} from '../../runtime/testing.ts'
import {everyByte} from '../support/blobs.ts'
import {type CrashDesk, openCrashDesk} from '../support/crash-desk.ts'

let desk: CrashDesk
beforeAll(async () => {
  desk = await openCrashDesk()
})
afterAll(() => desk.close())

const input = z.strictObject({})
const photograph = defineTool({name: 'photograph', description: 'Takes a picture.', effect: 'read', input})
const scan = defineTool({name: 'scan', description: 'Scans a letter into the archive.', effect: 'local', input})
const clerk = defineAgent({name: 'clerk', version: '1', instructions: 'Keep records.', tools: [photograph, scan]})
const list = Array.from({length: 4000}, (_, i) => `line ${i} of a long letter`)

/** Both tools run in one breath, each holding bytes of its own. */
const story = () => ({
  agent: clerk,
  model: promptModel(prompt =>
    prompt.at(-1)?.role === 'tool'
      ? {text: 'Both are kept.'}
      : {
          calls: [
            {tool: 'photograph', input: {}},
            {tool: 'scan', input: {}},
          ],
        },
  ),
  tools: {
    photograph: () => ({taken: new Blob([everyByte], {type: 'image/png'})}),
    scan: async (_: object, {sql}: {sql(query: string, params?: unknown[]): Promise<unknown[]>}) => {
      await sql('insert into notes (text) values ($1)', ['scanned'])
      return list
    },
  } as never,
  world: desk.world,
  databases: desk.databases,
  points: 'distinct' as const,
  prepare: async (db: {exec(sql: string): Promise<unknown>}) =>
    void (await db.exec('create table if not exists notes (text text)')),
  async scenario(scene: Parameters<Parameters<typeof crashEverywhere>[0]['scenario']>[0]) {
    const session = await scene.at('laptop').open()
    await session.send('Keep them.')
    await session.until(({status, pending}) => status === 'completed' && pending === 0)
  },
})

test('[LOG-5] [SYNC-4] a device that dies at any write or request while it keeps and sends blobs ends with all of them, here and there', {
  timeout: 900_000,
}, async () => {
  const report = await crashEverywhere(story())
  expect(JSON.stringify(report.failures)).toBe('[]')
  const [{transcript} = {transcript: []}] = report.undisturbed.sessions
  const held = JSON.stringify(transcript).match(/"blobs":\[/g)
  expect(held).toHaveLength(2)
  for (const place of ['a transaction', 'putBlob', 'markBlob', 'push']) {
    expect(report.deaths).toContain(`laptop: after ${place}`)
  }
})

test('[LOG-5] [SYNC-4] a server that dies before or after any of its transactions meanwhile ends with all of them too', {
  timeout: 900_000,
}, async () => {
  const report = await crashEverywhere({...story(), dies: 'server'})
  expect(JSON.stringify(report.failures)).toBe('[]')
  expect(report.deaths).toContain('server: after put')
})
