import type {SubjectId} from '../../runtime/protocol/ids.ts'
import type {Principal} from '../principal.ts'
import type {Authority} from './authority.ts'

/** What a subject may act as now, and who lent it; null for what the token itself says. */
export type HeldRole = {role: string; from: SubjectId | null}

export async function heldRoles({store, environment}: Authority, principal: Principal): Promise<HeldRole[]> {
  const lent = await store.delegations.inForce(principal, environment.now())
  return [...principal.roles.map(role => ({role, from: null})), ...lent.map(({role, from}) => ({role, from}))]
}

export function roleNames(held: readonly HeldRole[]): string[] {
  return [...new Set(held.map(({role}) => role))]
}
