import * as z from 'zod'
import {sessionIdSchema, subjectIdSchema, tenantIdSchema} from '../runtime/protocol/ids.ts'
import {tellListeners} from '../runtime/protocol/tell-listeners.ts'

const about = {tenant: tenantIdSchema, subject: subjectIdSchema}

/** Reports that something changed and where. A poke carries no data, so a lost poke only delays delivery. [SYNC-3] */
export const pokeSchema = z.union([
  z.strictObject({type: z.literal('head'), ...about, session: sessionIdSchema, head: z.int().nonnegative()}),
  z.strictObject({type: z.literal('inbox'), tenant: tenantIdSchema, role: z.string()}),
  /** Addresses a subject that holds a delegated role: its token does not name that role. */
  z.strictObject({type: z.literal('inbox'), ...about}),
  z.strictObject({type: z.enum(['revoked', 'memory', 'erased']), ...about}),
  z.strictObject({type: z.literal('agents'), tenant: tenantIdSchema}),
  z.strictObject({
    type: z.literal('fact'),
    tenant: tenantIdSchema,
    subject: subjectIdSchema.optional(),
    key: z.string(),
  }),
  /** An unknown number of pokes was lost: every listener must reload everything. */
  z.strictObject({type: z.literal('missed')}),
])
export type Poke = z.infer<typeof pokeSchema>

/**
 * Delivers pokes from committing code to the live streams. A bus that spans processes must publish `missed` to its
 * own listeners whenever pokes from other processes may be lost. `openPostgresBus` of `holdfast/server/postgres` is
 * one.
 */
export interface Bus {
  /** Must not throw. */
  publish(poke: Poke): void
  /** Returns an unsubscribe function. An error thrown by a listener is reported and does not affect other listeners. */
  subscribe(listener: (poke: Poke) => void): () => void
}

/** Creates a bus for a single process. */
export function createBus(): Bus {
  const listeners = new Set<(poke: Poke) => void>()
  return {
    publish: poke => tellListeners(listeners, poke),
    subscribe: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
