import type {SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import type {Json} from '../runtime/protocol/json.ts'

export type FactValue = {value: Json; version: string}
export type FactContext = {tenant: TenantId; subject: SubjectId}
/** With a subject, only that subject's devices hear of it: a key can itself be confidential. */
export type FactChange = {tenant: TenantId; key: string; subject?: SubjectId}

/**
 * The application's business facts. `read` answers what is true now and checks that the subject may see it: a fact
 * that is not theirs is null like one that does not exist. A version changes whenever its value does. [FACT-1]
 */
export interface FactSource {
  read(key: string, context: FactContext): Promise<FactValue | null>
  /** Calls the listener after a change; devices are told to read again. A lost call costs time only. */
  changes?(listener: (change: FactChange) => void): () => void
}

/** A fact source bound to one subject, as operations get it. */
export type BoundFacts = {read(key: string): Promise<FactValue | null>}

export function bindFacts(facts: FactSource, {tenant, subject}: FactContext): BoundFacts {
  return {read: key => facts.read(key, {tenant, subject})}
}
