import {HoldfastError} from '../runtime/index.ts'

/** Fetches JSON of this origin. Its errors are sentences that can be shown to a person. */
export async function fetchJson(path: string): Promise<unknown> {
  const response = await fetch(path, {signal: AbortSignal.timeout(10_000)}).catch(error => {
    throw new HoldfastError('offline', 'The server does not answer.', {cause: error})
  })
  if (!response.ok) throw new HoldfastError('offline', `The answer has status ${response.status}.`)
  return await response.json().catch(error => {
    const message = 'A page that is not from the server was the answer, such as a login page.'
    throw new HoldfastError('offline', message, {cause: error})
  })
}
