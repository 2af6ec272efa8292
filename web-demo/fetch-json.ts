/** Fetches JSON of this origin; what can go wrong is said in words that a person can be shown. */
export async function fetchJson(path: string): Promise<unknown> {
  const response = await fetch(path, {signal: AbortSignal.timeout(10_000)}).catch(error => {
    throw new Error('The server does not answer.', {cause: error})
  })
  if (!response.ok) throw new Error(`The server answered with status ${response.status}.`)
  return response.json()
}
