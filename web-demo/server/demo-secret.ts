import {randomBytes} from 'node:crypto'
import {link, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'

/** HMAC-SHA-256 keys shorter than its output weaken it, and the token code refuses them. */
const leastCharacters = 32

/**
 * Returns the secret that signs the demo's tokens. It is made once and kept with the data, so that tokens outlive a
 * restart. A file that is empty or too short, as a crash or a full disk leaves it, is replaced.
 *
 * @throws Error naming the file and the cause when it can be neither read nor written
 */
export async function demoSecret(dataDir: string): Promise<string> {
  if (dataDir.startsWith('memory://')) return freshSecret()
  const file = join(dataDir, 'demo-secret')
  try {
    await mkdir(dataDir, {recursive: true})
    await place(file, link)
    const kept = await read(file)
    if (kept.length >= leastCharacters) return kept
    await place(file, rename)
    return await read(file)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`The secret of the demo in ${file} cannot be used (${why}). Make it readable, or delete it.`, {
      cause,
    })
  }
}

/** Written whole before it gets its name: of two starts at once neither reads half a secret, and `link` lets only one win. */
async function place(file: string, name: (from: string, to: string) => Promise<void>): Promise<void> {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    await writeFile(draft, freshSecret(), {mode: 0o600, flag: 'wx'})
    await name(draft, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await rm(draft, {force: true})
  }
}

async function read(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim()
}

function freshSecret(): string {
  return randomBytes(32).toString('hex')
}
