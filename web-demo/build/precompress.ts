import {readdir, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {brotliCompress, constants} from 'node:zlib'
import type {Plugin} from 'vite'

const compress = promisify(brotliCompress)
const worthIt = /\.(html|js|css|wasm|data|svg|webmanifest)$/
/** Most of the gain for a tenth of the time of the highest: a build is something one waits for. */
const quality = 5

/** Writes a `.br` beside every file of the page that compresses, for the server to hand out as it is. */
export function precompress(folder: string): Plugin {
  return {
    name: 'holdfast-precompress',
    apply: 'build',
    enforce: 'post',
    closeBundle: {
      order: 'post',
      sequential: true,
      async handler() {
        const files = await readdir(folder, {recursive: true})
        for (const file of files.filter(name => worthIt.test(name))) await compressFile(join(folder, file))
      },
    },
  }
}

async function compressFile(path: string): Promise<void> {
  const bytes = await readFile(path)
  await writeFile(`${path}.br`, await compress(bytes, {params: {[constants.BROTLI_PARAM_QUALITY]: quality}}))
}
