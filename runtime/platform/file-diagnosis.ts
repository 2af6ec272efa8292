import {type OpeningCause, openingCause} from '../protocol/opening.ts'
import {forgetCached} from './cached-files.ts'

/**
 * Finds the cause of a failed engine start among the binary files that this worker has loaded. A login page or an error
 * page in place of a file makes the engine fail without a clear error. A wrong file is deleted from the caches. Returns
 * null when all files are valid.
 */
export async function diagnoseFiles(): Promise<OpeningCause | null> {
  const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
  const loaded = entries.filter(({name}) => binary.test(new URL(name).pathname))
  for (const url of new Set(loaded.map(({name}) => name))) {
    const cause = await diagnoseFile(url)
    if (cause) return cause
  }
  return refusedBefore(loaded)
}

/** Reports a file whose first request was refused, although all files are valid now. */
function refusedBefore(loaded: readonly PerformanceResourceTiming[]): OpeningCause | null {
  const refused = loaded.find(({responseStatus}) => responseStatus >= 400)
  if (!refused) return null
  const {name, responseStatus: status} = refused
  return openingCause('unreachable', `${name} answered with status ${status} at first.`, status)
}

const binary = /\.(wasm|data|bin)$/
const wasmMagic = [0, 0x61, 0x73, 0x6d]

async function diagnoseFile(url: string): Promise<OpeningCause | null> {
  const answer = await fetch(url).catch(() => null)
  if (!answer) return openingCause('unreachable', `${url} could not be fetched.`)
  if (answer.status === 404 || answer.status === 410) {
    return openingCause('new_version', `${url} answered with status ${answer.status}.`)
  }
  if (!answer.ok) return openingCause('unreachable', `${url} answered with status ${answer.status}.`, answer.status)
  const type = answer.headers.get('content-type') ?? 'no type'
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const isWasm = url.includes('.wasm')
  if (/html|text\/plain/.test(type) || (isWasm && wasmMagic.some((byte, i) => bytes[i] !== byte))) {
    await renew(url)
    return openingCause(
      'wrong_answer',
      `${url} answered with ${type}, and ${bytes.length} bytes that are no such file.`,
    )
  }
  if (!isWasm) return null
  try {
    await WebAssembly.compile(bytes)
    return null
  } catch (error) {
    await renew(url)
    return openingCause('engine', `${url} does not compile: ${error instanceof Error ? error.message : error}`)
  }
}

/** Deletes the file from the caches and replaces the wrong response in the browser's HTTP cache. */
async function renew(url: string): Promise<void> {
  await forgetCached(url)
  await fetch(url, {cache: 'reload'}).catch(() => null)
}
