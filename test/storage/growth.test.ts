import {expect, test} from 'vitest'
import * as Y from 'yjs'
import {documentDraft} from '../../runtime/documents/document-projection.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import {confirmed} from '../support/events.ts'
import {MemoryOpfs} from '../support/memory-opfs.ts'
import {maya, opened, openStoredDevice} from '../support/stored-device.ts'

test('2,200 edits of a document that the server takes: the files grow by what was written, not by the log of Postgres', async () => {
  const opfs = new MemoryOpfs()
  const device = await openStoredDevice(opfs)
  const log = await device.log(env.id('session'))
  await log.append(maya, [opened])
  const doc = new Y.Doc()
  const bytes = () => [...opfs.files.values()].reduce((sum, {size}) => sum + size, 0)
  const before = bytes()
  for (let edit = 1; edit <= 2200; edit++) {
    const state = Y.encodeStateVector(doc)
    doc.getText('draft').insert(edit - 1, 'x')
    await log.append(maya, [documentDraft('draft', Y.encodeStateAsUpdate(doc, state))])
    if (edit % 50 > 0) continue
    await log.receive(confirmed((await device.store.pending(log.id, 1000)) as Event[], log.head))
  }
  // Without checkpoints and vacuum it is 10.5 MB.
  expect(bytes() - before).toBeLessThan(7_500_000)
  await device.close()
})
