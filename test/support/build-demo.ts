import {spawn} from 'node:child_process'
import {once} from 'node:events'

/** Builds page and server once for a whole run, and not at all when a build newer than the sources is there. */
export default async function buildDemo(): Promise<void> {
  // Without what Vitest sets, because the build would otherwise take itself for a test.
  const {VITEST: _vitest, NODE_ENV: _nodeEnv, ...env} = process.env
  const child = spawn(process.execPath, ['.ci/build.mjs'], {env, stdio: ['ignore', 'ignore', 'pipe']})
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`The demo could not be built:\n${errors}`)
}
