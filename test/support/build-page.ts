import {mkdtemp} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join, resolve} from 'node:path'
import {build} from 'vite'
import {preparedDataDirPlugin} from '../../runtime/storage/prepared/vite-plugin.ts'

/** Builds a page under test as an application would build it, and returns the folder to serve. */
export async function buildPage(root: string): Promise<string> {
  const outDir = await mkdtemp(join(tmpdir(), 'holdfast-page-'))
  const plugins = () => [preparedDataDirPlugin({cacheDir: resolve('node_modules/.cache/holdfast')})]
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    plugins: plugins(),
    worker: {format: 'es', plugins},
    build: {outDir, emptyOutDir: true, assetsInlineLimit: 0, target: 'es2022'},
  })
  return outDir
}
