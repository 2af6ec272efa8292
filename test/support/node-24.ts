import {execFile} from 'node:child_process'
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {promisify} from 'node:util'

const folder = join(import.meta.dirname, '../node-24')

/** The path of a Node 24: `HOLDFAST_NODE_24`, or the one that is installed in `test/node-24` the first time it is needed. */
export async function node24(): Promise<string> {
  if (process.env.HOLDFAST_NODE_24) return process.env.HOLDFAST_NODE_24
  const binary = join(folder, `node_modules/node-${process.platform}-${process.arch}/bin/node`)
  if (!existsSync(binary)) await promisify(execFile)('npm', ['ci', '--prefer-offline', '--no-audit'], {cwd: folder})
  if (existsSync(binary)) return binary
  const message = `test/node-24 has no Node for ${process.platform} ${process.arch}: set HOLDFAST_NODE_24 to the path of one.`
  throw new Error(message)
}
