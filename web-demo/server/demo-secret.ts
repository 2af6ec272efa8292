import {randomBytes} from 'node:crypto'
import {mkdir, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'

/** Signs the demo's tokens; made once and kept with the data, so that tokens outlive a restart. */
export async function demoSecret(dataDir: string): Promise<string> {
  if (dataDir.startsWith('memory://')) return freshSecret()
  await mkdir(dataDir, {recursive: true})
  const file = join(dataDir, 'demo-secret')
  try {
    // `wx` fails when the file is there, so that of two starts at once only one decides.
    await writeFile(file, freshSecret(), {mode: 0o600, flag: 'wx'})
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  return readFile(file, 'utf8')
}

function freshSecret(): string {
  return randomBytes(32).toString('hex')
}
