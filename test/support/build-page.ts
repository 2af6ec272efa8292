import {mkdtemp} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join, resolve} from 'node:path'
import {build} from 'vite'
import {preparedDataDirPlugin} from '../../runtime/storage/prepared/vite-plugin.ts'

/** PGlite's own eval is never reached, which the policy of the served page proves; slow plugins are no news. */
const quiet = {eval: false, pluginTimings: false}

/** Builds a page under test as an application would build it, and returns the folder to serve. */
export async function buildPage(root: string): Promise<string> {
  const outDir = await mkdtemp(join(tmpdir(), 'holdfast-page-'))
  const plugins = () => [preparedDataDirPlugin({cacheDir: resolve('node_modules/.cache/holdfast')})]
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    plugins: plugins(),
    worker: {format: 'es', plugins, rollupOptions: {checks: quiet}},
    build: {outDir, emptyOutDir: true, assetsInlineLimit: 0, target: 'es2022', rollupOptions: {checks: quiet}},
  })
  return outDir
}
