import type {SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import type {Json} from '../runtime/protocol/json.ts'
import {isStorable} from '../runtime/protocol/text.ts'

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
  /** The same for several keys in one look, in their order; without it each is read by itself. */
  readMany?(keys: readonly string[], context: FactContext): Promise<(FactValue | null)[]>
  /** The version alone, where that is cheaper than the value; null like `read`. */
  version?(key: string, context: FactContext): Promise<string | null>
  /** Calls the listener after a change; devices are told to read again. A lost call costs time only. */
  changes?(listener: (change: FactChange) => void): () => void
}

/** The facts of an application that declares none. */
export const noFacts: FactSource = {read: async () => null}

/** A fact source bound to one subject, as operations get it. */
export type BoundFacts = {
  read(key: string): Promise<FactValue | null>
  readMany(keys: readonly string[]): Promise<(FactValue | null)[]>
}

export function bindFacts(facts: FactSource, context: FactContext): BoundFacts {
  return {
    // No source has a fact under a key that no database can hold; asked for one, a database would throw.
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
