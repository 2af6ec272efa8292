import {badInput, HoldfastError} from '../protocol/errors.ts'
import {jsonBytes} from '../protocol/json.ts'
import {redactSecrets} from '../protocol/redact-secrets.ts'
import {patchSlots, type Slots, slotsPatch, slotsPatchSchema} from '../protocol/slots.ts'
import {limits} from '../protocol/version.ts'

/** Reads and changes the slots inside one tool call; what it changed commits with the call's result, or not at all. */
export interface SlotEditor {
  /** The slots as this call has left them so far. */
  read(): Slots
  /**
   * Applies a JSON merge patch (RFC 7386): a member replaces, an object merges, null removes.
   *
   * @throws HoldfastError `bad_input` for what is no JSON object, `too_large` when the slots would exceed 16 KiB
   */
  patch(patch: Slots): void
}

/** What is shaped like a credential is left out on the way in. [VIEW-5] */
export function openSlotEditor(before: Slots): SlotEditor & {changes(): Slots | null} {
  let slots = structuredClone(before)
  return {
    read: () => structuredClone(slots),
    changes: () => slotsPatch(before, slots),
    patch(patch) {
      const checked = slotsPatchSchema.safeParse(patch)
      if (!checked.success) {
        const {message} = badInput('slots.patch', checked.error, patch)
        throw new HoldfastError('bad_input', message, {details: {field: 'patch'}})
      }
      const next = patchSlots(slots, redactSecrets(checked.data) as Slots)
      const bytes = jsonBytes(next)
      if (bytes > limits.slotBytes) {
        const message = `slots.patch: the slots would be ${bytes} bytes, at most ${limits.slotBytes} are taken`
        throw new HoldfastError('too_large', message, {details: {field: 'patch', bytes, limit: limits.slotBytes}})
      }
      slots = structuredClone(next)
    },
  }
}
