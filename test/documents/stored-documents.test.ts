import fc from 'fast-check'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {documentDraft, documentProjection} from '../../runtime/documents/document-projection.ts'
import {documentReader} from '../../runtime/documents/document-reader.ts'
import {applyUpdate, editText, foldDocument, readAt, readText, snapshotOf} from '../../runtime/documents/shared-text.ts'
import {systemEnvironment as environment} from '../../runtime/platform/environment.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'

let database: Awaited<ReturnType<typeof openNodeDatabase>>
let store: DeviceStore
beforeAll(async () => {
  database = await openNodeDatabase({dataDir: 'memory://'})
  store = await openPGliteStore(database.db, environment)
})
afterAll(() => database.close())

const person = {type: 'person', subject: 'maya'} as never

async function session() {
  const {id: device} = await store.device()
  const log = await SessionLog.open(
    {store, device, environment, projections: [documentProjection]},
    environment.id('session'),
  )
  await log.append(person, [{kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}])
  let own: Uint8Array | null = null
  return {
    log,
    /** As one replica that types: each edit builds on the last. */
    type: async (text: string, name = 'plan') => {
      const update = editText(own, text)
      if (!update) return
      own = applyUpdate(own, update)
      await log.append(person, [documentDraft(name, update)])
    },
  }
}

describe('a document on the device', () => {
  test('[WRK-2] that is typed letter by letter keeps every edit, and its snapshot is written seldom', async () => {
    const {log, type} = await session()
    const text = 'A plan that somebody types, letter by letter. '.repeat(4)
    let snapshots = 0
    let last = -1
    for (let i = 1; i <= text.length; i++) {
      await type(text.slice(0, i))
      const stored = await store.document(log.id, 'plan')
      const size = stored?.snapshot?.length ?? 0
      if (size !== last) snapshots += 1
      last = size
      if (stored && i % 40 === 0) expect(readText(foldDocument(stored))).toBe(text.slice(0, i))
    }
    const stored = await store.document(log.id, 'plan')
    expect(stored && readText(foldDocument(stored))).toBe(text)
    expect(snapshots).toBeLessThanOrEqual(1 + Math.ceil(text.length / 64))
  })

  test('[WRK-2] an edit that is none, among good ones, takes nothing with it', async () => {
    const {log, type} = await session()
    await type('Before.')
    await log.append(person, [documentDraft('plan', new Uint8Array([9, 9, 9, 9]))])
    await type('Before. After.')
    const stored = await store.document(log.id, 'plan')
    expect(stored && readText(foldDocument(stored))).toBe('Before. After.')
  })

  test('[VIEW-2] reads again exactly as it was at every moment, from edits in any order', async () => {
    const {log, type} = await session()
    const reader = documentReader(store)
    const moments: {text: string; snapshot: string}[] = []
    for (const text of ['One.', 'One. Two.', 'Two.', 'Two 😀.', '', 'Three.']) {
      await type(text)
      moments.push((await reader.now(log.id, 'plan'))!)
    }
    for (const {text, snapshot} of moments) expect(await reader.at(log.id, 'plan', snapshot)).toBe(text)
    expect(moments.map(({text}) => text)).toEqual(['One.', 'One. Two.', 'Two.', 'Two 😀.', '', 'Three.'])
  })

  test('[VIEW-2] a moment is found whatever came later, in whatever order the edits come, and not without all of its own', () => {
    fc.assert(
      fc.property(fc.array(fc.string({unit: 'grapheme', maxLength: 12}), {minLength: 1, maxLength: 8}), texts => {
        let doc: Uint8Array | null = null
        const updates: Uint8Array[] = []
        const moments: {text: string; snapshot: Uint8Array; edits: number}[] = []
        for (const text of texts) {
          const update = editText(doc, text)
          if (!update) continue
          updates.push(update)
          doc = applyUpdate(doc, update)
          moments.push({text, snapshot: snapshotOf(doc), edits: updates.length})
        }
        for (const {text, snapshot, edits} of moments) {
          expect(readAt(updates.toReversed(), snapshot)).toBe(text)
          const inserts = text.length > 0 && edits === 1
          if (inserts) expect(readAt(updates.slice(edits), snapshot)).toBeNull()
        }
      }),
      {numRuns: 60},
    )
  })
})
