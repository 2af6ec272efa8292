import * as z from 'zod'
import {sessionIdSchema, subjectIdSchema, tenantIdSchema} from '../runtime/protocol/ids.ts'
import {tellListeners} from '../runtime/protocol/tell-listeners.ts'

const about = {tenant: tenantIdSchema, subject: subjectIdSchema}

/** Says that something moved and where to look; never the truth itself, so a lost poke costs time only. [SYNC-3] */
export const pokeSchema = z.union([
  z.strictObject({type: z.literal('head'), ...about, session: sessionIdSchema, head: z.int().nonnegative()}),
  z.strictObject({type: z.literal('inbox'), tenant: tenantIdSchema, role: z.string()}),
  /** For somebody whose role was lent to them: their token does not name it. */
  z.strictObject({type: z.literal('inbox'), ...about}),
  z.strictObject({type: z.enum(['revoked', 'memory', 'erased']), ...about}),
  z.strictObject({type: z.literal('agents'), tenant: tenantIdSchema}),
  z.strictObject({
    type: z.literal('fact'),
    tenant: tenantIdSchema,
    subject: subjectIdSchema.optional(),
    key: z.string(),
  }),
  /** Pokes were lost, nobody knows which: everybody looks at everything. */
  z.strictObject({type: z.literal('missed')}),
])
export type Poke = z.infer<typeof pokeSchema>

/**
 * Carries pokes from whoever commits to the live streams. A bus that spans processes says `missed` to its own listeners
 * whenever pokes of others may not have reached it; `openPostgresBus` of `holdfast/server/postgres` is one.
 */
export interface Bus {
  /** Must not throw. */
  publish(poke: Poke): void
  /** Returns its unsubscribe. What a listener throws is reported and keeps the poke from no other listener. */
  subscribe(listener: (poke: Poke) => void): () => void
}

/** The bus of a single process. */
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
