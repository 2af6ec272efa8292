// Builds page, server and package, unless a build is there that is newer than every source.
import {spawnSync} from 'node:child_process'
import {readdirSync, statSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = join(root, 'dist/server/server.js')
const sources = ['runtime', 'sync-server', 'web-demo', 'vite.config.ts', 'package-lock.json']

function changedAt(path) {
  const stat = statSync(path, {throwIfNoEntry: false})
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(0, ...readdirSync(path).map(name => changedAt(join(path, name))))
}

if (changedAt(built) < Math.max(...sources.map(source => changedAt(join(root, source))))) {
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  console.error('Building page, server and package once …')
  const command = [vite, 'build', '--app', '--logLevel', 'error']
  const {status} = spawnSync(process.execPath, command, {cwd: root, stdio: 'inherit'})
  if (status !== 0) process.exit(status ?? 1)
}
