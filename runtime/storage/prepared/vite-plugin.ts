import {readFile} from 'node:fs/promises'
import {posix} from 'node:path'
import {pathToFileURL} from 'node:url'
import type {Plugin} from 'vite'
import {preparedDataDir} from './make-data-dir.ts'

const virtualId = 'virtual:holdfast-data-dir'
const placeholder = /holdfast-asset:([\w-]+)/g

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
      const forPage = this.environment.config.consumer === 'client'
      if (!building) return exporting(forPage ? servedFrom(file) : JSON.stringify(pathToFileURL(file).href))
      const asset = this.emitFile({type: 'asset', name: 'data-dir.bin', source: await readFile(file)})
      // Vite resolves its own form against the page's base, which means nothing to Node or to another bundler.
      if (forPage) return exporting(`import.meta.ROLLUP_FILE_URL_${asset}`)
      return exporting(`new URL("holdfast-asset:${asset}", import.meta.url).href`)
    },
    renderChunk(code, chunk) {
      if (!code.includes('holdfast-asset:')) return undefined
      const from = posix.dirname(chunk.fileName)
      return code.replace(placeholder, (_all, asset: string) => relative(from, this.getFileName(asset)))
    },
  }
}

function exporting(expression: string): string {
  return `export default ${expression}`
}

function servedFrom(file: string): string {
  return `new URL(${JSON.stringify(`/@fs${file}`)}, location.origin).href`
}

function relative(from: string, to: string): string {
  const path = posix.relative(from, to)
  return path.startsWith('.') ? path : `./${path}`
}
