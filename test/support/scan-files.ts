import {readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'

/** The files below a folder that hold this text, as bytes or in base64, wherever it begins in it. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const needles = [Buffer.from(text), ...[0, 1, 2].map(offset => base64Core(text, offset))]
  const names = await readdir(folder, {recursive: true, withFileTypes: true})
  const found: string[] = []
  for (const entry of names) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = await readFile(path)
    if (needles.some(needle => bytes.includes(needle))) found.push(path.slice(folder.length + 1))
  }
  return found.sort()
}

/** What of the base64 depends on the text alone, when `offset` bytes came before it. */
function base64Core(text: string, offset: number): Buffer {
  const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).toString('base64')
  return Buffer.from(encoded.slice(offset === 0 ? 0 : 4, -4))
}
