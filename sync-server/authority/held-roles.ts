import type {SubjectId} from '../../runtime/protocol/ids.ts'
import type {Principal} from '../principal.ts'
import type {Authority} from './authority.ts'

/** A role that a subject holds now. `from` is the lender, or null for a role of the token. */
export type HeldRole = {role: string; from: SubjectId | null}

export async function heldRoles({store, environment}: Authority, principal: Principal): Promise<HeldRole[]> {
  const lent = await store.delegations.inForce(principal, environment.now())
  return [...principal.roles.map(role => ({role, from: null})), ...lent.map(({role, from}) => ({role, from}))]
}

export function roleNames(held: readonly HeldRole[]): string[] {
  return [...new Set(held.map(({role}) => role))]
}
