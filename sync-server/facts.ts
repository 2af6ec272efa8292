import type {SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import type {Json} from '../runtime/protocol/json.ts'
import {isStorable} from '../runtime/protocol/text.ts'

export type FactValue = {value: Json; version: string}
export type FactContext = {tenant: TenantId; subject: SubjectId}
/** With a subject, only devices of that subject are notified: a key can itself be confidential. */
export type FactChange = {tenant: TenantId; key: string; subject?: SubjectId}

/**
 * The application's business facts. `read` returns the current value and checks that the subject may see it. It
 * returns null both for a missing fact and for one the subject may not see. A version changes whenever its value
 * does. [FACT-1]
 */
export interface FactSource {
  read(key: string, context: FactContext): Promise<FactValue | null>
  /** Reads several keys at once and returns the facts in the same order. Default: one `read` per key. */
  readMany?(keys: readonly string[], context: FactContext): Promise<(FactValue | null)[]>
  /** Returns the version only, where that is cheaper than the value. Null as in `read`. */
  version?(key: string, context: FactContext): Promise<string | null>
  /**
   * Calls `listener` after a change, so that devices read again. A missed call only delays them. Returns an
   * unsubscribe function.
   */
  changes?(listener: (change: FactChange) => void): () => void
}

/** The fact source of an application without facts. */
export const noFacts: FactSource = {read: async () => null}

/** A fact source bound to one subject, as passed to operations. */
export type BoundFacts = {
  read(key: string): Promise<FactValue | null>
  readMany(keys: readonly string[]): Promise<(FactValue | null)[]>
}

export function bindFacts(facts: FactSource, context: FactContext): BoundFacts {
  return {
    // No source has a fact under a key that a database cannot store; a query with such a key would throw.
    read: async key => (isStorable(key) ? facts.read(key, context) : null),
    readMany: keys => readFacts(facts, keys, context),
  }
}

export async function readFacts(
  facts: FactSource,
  keys: readonly string[],
  context: FactContext,
): Promise<(FactValue | null)[]> {
  const storable = keys.filter(isStorable)
  if (storable.length < keys.length) {
    const found = new Map((await readFacts(facts, storable, context)).map((fact, i) => [storable[i], fact]))
    return keys.map(key => found.get(key) ?? null)
  }
  if (keys.length === 0) return []
  return facts.readMany ? facts.readMany(keys, context) : Promise.all(keys.map(key => facts.read(key, context)))
}
