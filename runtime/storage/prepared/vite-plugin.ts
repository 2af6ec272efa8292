import {readFile} from 'node:fs/promises'
import {pathToFileURL} from 'node:url'
import type {Plugin} from 'vite'
import {preparedDataDir} from './make-data-dir.ts'

const virtualId = 'virtual:holdfast-data-dir'

/**
 * Resolves `virtual:holdfast-data-dir` to the URL of the prepared data directory: a file beside the bundle in a
 * build, a file on this machine under test and in development.
 */
export function preparedDataDirPlugin({cacheDir}: {cacheDir: string}): Plugin {
  let building = false
  return {
    name: 'holdfast-data-dir',
    configResolved(config) {
      building = config.command === 'build'
    },
    resolveId: id => (id === virtualId ? `\0${virtualId}` : undefined),
    async load(id) {
      if (id !== `\0${virtualId}`) return undefined
      const file = await preparedDataDir(cacheDir)
      if (building) {
        const reference = this.emitFile({type: 'asset', name: 'data-dir.bin', source: await readFile(file)})
        return `export default import.meta.ROLLUP_FILE_URL_${reference}`
      }
      if (this.environment.config.consumer === 'client') {
        return `export default new URL(${JSON.stringify(`/@fs${file}`)}, location.origin).href`
      }
      return `export default ${JSON.stringify(pathToFileURL(file).href)}`
    },
  }
}
