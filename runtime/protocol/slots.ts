import * as z from 'zod'
import {type Json, jsonBytes, jsonObjectSchema, sameJson} from './json.ts'
import {limits} from './version.ts'

/**
 * The agent's scratchpad: one JSON object a session, changed only by events of the custody holder, and folded into the
 * control state, so that it is saved with every event as part of the checkpoint. [WRK-1]
 */
export type Slots = {[key: string]: Json}

export const noSlots: Slots = Object.freeze({})

export const slotsSchema = jsonObjectSchema.refine(
  slots => jsonBytes(slots) <= limits.slotBytes,
  `expected slots of at most ${limits.slotBytes} bytes`,
)

/** A patch may have to name every old key and every new one. */
export const slotsPatchSchema = jsonObjectSchema.refine(
  patch => jsonBytes(patch) <= 2 * limits.slotBytes,
  `expected a patch of at most ${2 * limits.slotBytes} bytes`,
)

export const slotKinds = {
  /** A JSON merge patch (RFC 7386): a member replaces, an object merges, null removes. */
  'slots.patched': z.strictObject({patch: slotsPatchSchema}),
}

/**
 * Applies a JSON merge patch (RFC 7386); neither argument is changed.
 *
 * @example
 * patchSlots({order: 'A17', step: 1}, {step: null}) // {order: 'A17'}
 */
export function patchSlots(slots: Slots, patch: Slots): Slots {
  const next = new Map(Object.entries(slots))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) next.delete(key)
    else next.set(key, isObject(value) ? patchSlots(objectOr(next.get(key)), value) : value)
  }
  return Object.fromEntries(next)
}

/** The smallest patch that turns one state into the other; null when they are equal. */
export function slotsPatch(before: Slots, after: Slots): Slots | null {
  const removed = Object.keys(before).filter(key => !Object.hasOwn(after, key))
  const changed = Object.entries(after).flatMap(([key, value]) => {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (old !== undefined && sameJson(old, value)) return []
    const inner = isObject(value) && isObject(old) ? slotsPatch(old, value) : value
    return [[key, inner] as const]
  })
  const patch = [...removed.map(key => [key, null] as const), ...changed]
  return patch.length > 0 ? Object.fromEntries(patch) : null
}

function isObject(value: Json | undefined): value is {[key: string]: Json} {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function objectOr(value: Json | undefined): Slots {
  return isObject(value) ? value : noSlots
}

/** What a fold of slots needs of an event: its kind and its data. */
type SlotEvent = {kind: string; data: unknown; unreadable?: string}

/** Kinds that decide what the slots of a session are. */
export const slotHistoryKinds = ['session.forked', 'slots.patched'] as const

/** The slots after these events of one session, in log order; whatever else is among them is skipped. [WRK-3] */
export function foldSlots(events: readonly SlotEvent[]): Slots {
  return events.reduce<Slots>((slots, {kind, data, unreadable}) => {
    if (unreadable !== undefined) return slots
    if (kind === 'session.forked') return (data as {slots?: Slots}).slots ?? noSlots
    return kind === 'slots.patched' ? patchSlots(slots, (data as {patch: Slots}).patch) : slots
  }, noSlots)
}
