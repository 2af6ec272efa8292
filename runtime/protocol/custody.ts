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

export const custodyPersonKinds = {
  /**
   * A device that is not the holder goes on without the server, under the next epoch. Provisional: it counts once the
   * server has taken it, which it does only if nobody moved the epoch and nobody worked after `restsOn`. [CUS-4]
   */
  'custody.assumed': z.strictObject({
    epoch: z.int().min(2),
    /** The last confirmed event that the device had. */
    restsOn: z.int().positive(),
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

type Assumption = Extract<Event, {kind: 'custody.assumed'}>

/** Compare and set again, on the epoch and on the work done under it: else two lines of work would interleave. [CUS-4] */
export function refuseAssumption(
  {custody, worked, head}: {custody: CustodyState; worked: number; head: number},
  {device, data}: Pick<Assumption, 'device' | 'data'>,
): Refusal | null {
  const asked = `custody.assumed as epoch ${data.epoch}, resting on event ${data.restsOn}`
  const no = (met: string, legal: string[]): Refusal => ({
    code: 'stale_epoch',
    asked,
    met,
    owner: 'control plane',
    legal,
  })
  if (custody.holder === device) return no('a device that holds custody already', ['go on under the epoch held'])
  if (data.epoch !== custody.epoch + 1) return no(`epoch ${custody.epoch}`, ['keep the work as a branch'])
  // A position beyond the head would treat later work of the holder as already seen.
  if (data.restsOn > head) return no(`a session whose last event is ${head}`, ['keep the work as a branch'])
  if (worked > data.restsOn) return no(`work of the holder up to event ${worked}`, ['keep the work as a branch'])
  return null
}

export function evolveCustody(state: CustodyState, event: Event): CustodyState {
  switch (event.kind) {
    case 'session.opened':
    case 'session.forked':
      return {holder: event.device, epoch: 1}
    case 'custody.granted':
      return {holder: event.data.holder, epoch: event.data.epoch}
    case 'custody.assumed':
      return {holder: event.device, epoch: event.data.epoch}
    default:
      return state
  }
}
