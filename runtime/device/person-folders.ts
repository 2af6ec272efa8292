import {readdir, rm} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {firstPlace, type Place} from '../page/people.ts'
import type {DeviceDatabase} from '../storage/pglite/device-database.ts'
import {lockFolder} from '../storage/pglite/folder-lock.ts'
import {openDeviceFolder} from '../storage/pglite/open-device-folder.ts'

/** Databases of several persons under one folder. One process at a time holds the folder. [ID-6] */
export type PersonFolders = {
  open(place: Place): Promise<DeviceDatabase>
  remove(place: Place): Promise<boolean>
  /** Closes databases that are kept in memory. */
  close(): Promise<void>
}

export function personFolders(dataDir: string): PersonFolders {
  return dataDir.startsWith('memory://') ? inMemory(dataDir) : onDisk(resolve(dataDir))
}

function onDisk(folder: string): PersonFolders {
  const folderOf = (place: Place) => join(folder, 'people', place)
  return {
    open: async place => {
      if (place === firstPlace) return openDeviceFolder(folder)
      const release = await lockFolder(folder)
      try {
        const database = await openDeviceFolder(folderOf(place))
        return {...database, close: () => database.close().finally(release)}
      } catch (error) {
        await release()
        throw error
      }
    },
    remove: async place => {
      if (place !== firstPlace) await rm(folderOf(place), {recursive: true, force: true})
      // The folder also holds the lock, the index, other persons' databases and files of the application.
      else for (const name of await ownFiles(folder)) await rm(join(folder, name), {recursive: true, force: true})
      return true
    },
    close: async () => undefined,
  }
}

const ours = /^(postgres|generation|outbox|salvage|suspect)([.-]|$)/

async function ownFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter(name => ours.test(name))
}

/**
 * In-memory databases stay open across a switch of person, so that unsent data is kept until the first person returns.
 */
function inMemory(dataDir: string): PersonFolders {
  const opened = new Map<Place, Promise<DeviceDatabase>>()
  const close = async (place: Place) => {
    const database = opened.get(place)
    opened.delete(place)
    await (await database)?.close()
  }
  return {
    open: async place => {
      const known = opened.get(place) ?? openDeviceFolder(dataDir)
      opened.set(place, known)
      // After a failure, the next call opens it again.
      known.catch(() => opened.delete(place))
      return {...(await known), close: async () => undefined}
    },
    remove: async place => {
      await close(place)
      return true
    },
    close: async () => {
      for (const place of [...opened.keys()]) await close(place)
    },
  }
}
