import * as z from 'zod'
import type {Event} from './event.ts'
import {type DeviceId, deviceIdSchema} from './ids.ts'
import type {Refusal} from './refusal.ts'

/**
 * Custody is the right to advance the runs of a session: one holder, one epoch. Whoever creates a session holds epoch
 * 1 by creating it; every later epoch is granted by the server, which is what fences a holder that came back. [CUS-1]
 */
export const custodyKinds = {
  'custody.granted': z.strictObject({
    holder: deviceIdSchema,
    epoch: z.int().min(2),
    reason: z.enum(['requested', 'handed_over']),
  }),
}

export type CustodyState = {holder: DeviceId | null; epoch: number}

export const initialCustody: CustodyState = {holder: null, epoch: 0}

/** Compare and set: a claim names the epoch it saw, so of two claims at once exactly one is granted. */
export function decideClaim(state: CustodyState, claim: {holder: DeviceId; sawEpoch: number}): Refusal | null {
  if (claim.sawEpoch === state.epoch) return null
  return {
    code: 'stale_epoch',
    asked: `custody after epoch ${claim.sawEpoch}`,
    met: `epoch ${state.epoch}`,
    owner: 'control plane',
    legal: ['pull the session, then claim again'],
  }
}

export function evolveCustody(state: CustodyState, event: Event): CustodyState {
  switch (event.kind) {
    case 'session.opened':
    case 'session.forked':
      return {holder: event.device, epoch: 1}
    case 'custody.granted':
      return {holder: event.data.holder, epoch: event.data.epoch}
    default:
      return state
  }
}
