import {readFile} from 'node:fs/promises'
import {fileURLToPath} from 'node:url'
import dataDirUrl from 'virtual:holdfast-data-dir'
import {storedOwner} from '../../../runtime/device/device-owner.ts'
import {openDeviceRuntime} from '../../../runtime/device/device-runtime.ts'
import {localFeed} from '../../../runtime/device/local-feed.ts'
import {documentProjection} from '../../../runtime/documents/document-projection.ts'
import type {ModelSource} from '../../../runtime/loop/define.ts'
import {createSessions} from '../../../runtime/page/page-runtime.ts'
import {systemEnvironment as environment} from '../../../runtime/platform/environment.ts'
import type {Person} from '../../../runtime/protocol/person.ts'
import {openOpfs} from '../../../runtime/storage/pglite/open-opfs.ts'
import {asTarball} from '../../../runtime/storage/prepared/as-tarball.ts'
import {openDeviceStore} from '../../../runtime/storage/recovery/open-device-store.ts'
import type {CuttableLink} from '../../../runtime/sync/http-link.ts'
import {deskHost} from '../../support/crashable-device.ts'
import type {MemoryOpfs} from '../../support/memory-opfs.ts'
import {person} from './scene.ts'

const prepared = async () => asTarball(new Uint8Array(await readFile(fileURLToPath(dataDirUrl))))

/** The desk over the files of a browser, in this process. */
export async function openOpfsRuntime(opfs: MemoryOpfs, model: ModelSource, link: CuttableLink | null) {
  const database = await openOpfs(async () => opfs.root, 'desk', prepared)
  const storage = await openDeviceStore(database, environment, [documentProjection])
  const feed = localFeed()
  const device = await openDeviceRuntime({
    store: storage.store,
    storage,
    hosts: [deskHost(model)],
    router: undefined,
    environment,
    link,
    owner: await storedOwner(storage.store, person as Person),
    setToken: () => undefined,
    publisher: feed,
    ownMemory: {store: storage.memory},
    log: undefined,
    retryDelayMs: 1,
  })
  const onOwnerChange = () => () => undefined
  return {
    ...createSessions({service: device.service, listen: feed.listen, onOwnerChange, environment}),
    storage,
    async close() {
      await device.close()
      await database.close()
    },
  }
}
