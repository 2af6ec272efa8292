import {HoldfastError} from '../../../runtime/protocol/errors.ts'
import {type Authenticate, principalSchema} from '../../../sync-server/principal.ts'

export type Who = {tenant: string; subject: string; roles?: string[]; expiresAt?: number}
export type Served = {app: {request(path: string, init?: RequestInit): Response | Promise<Response>}}

/** Takes the principal straight from the header, for tests that are not about tokens. */
export const trustingAuth: Authenticate = async request => {
  const header = request.headers.get('authorization')
  if (!header) throw new HoldfastError('unauthenticated', 'no header')
  try {
    return principalSchema.parse(JSON.parse(header))
  } catch {
    throw new HoldfastError('unauthenticated', 'no principal')
  }
}

export function headersOf(who: Who): Record<string, string> {
  const principal = {roles: [], expiresAt: Date.now() + 3_600_000, ...who}
  return {authorization: JSON.stringify(principal), 'holdfast-protocol': '1', 'content-type': 'application/json'}
}

/** GET, or POST when there is a body; the answer's JSON as `T`. */
export async function call<T>(
  served: Served,
  who: Who,
  path: string,
  body?: unknown,
): Promise<{status: number; body: T}> {
  const response = await served.app.request(path, {
    headers: headersOf(who),
    ...(body !== undefined && {method: 'POST', body: JSON.stringify(body)}),
  })
  return {status: response.status, body: await response.json()}
}
