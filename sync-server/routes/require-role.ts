import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Principal} from '../principal.ts'

/** @throws HoldfastError `forbidden` naming the role */
export function requireRole({roles}: Principal, role: string, deed: string): void {
  if (!roles.includes(role)) throw new HoldfastError('forbidden', `Only a holder of the role "${role}" may ${deed}.`)
}
