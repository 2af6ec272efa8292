import {isRecord} from '../../runtime/protocol/memory.ts'
import {limits} from '../../runtime/protocol/version.ts'
import type {DataLayer} from '../data-layer.ts'
import {forgetUntouched} from './memory.ts'
import type {MemoryContext} from './memory-context.ts'

/**
 * Data layer of memory for erasure and export. Items derived from a session outlive it unless the erasure includes
 * them. [RET-4]
 */
export function memoryLayer(context: MemoryContext): DataLayer {
  const {store, bus, environment} = context
  const {memory} = store
  return {
    name: 'memory',
    derived: true,
    erase: async ({tenant, subject, sessions, whole}) => {
      const owner = {tenant, subject}
      const at = environment.now()
      let removed = 0
      if (whole) removed = (await memory.eraseBySubject(owner, at)).items.length
      else
        for (const session of sessions) removed += (await memory.eraseBySession({...owner, session}, at)).items.length
      // Devices pull the tombstones and delete the text.
      if (removed > 0) bus.publish({type: 'memory', ...owner})
      return removed
    },
    expiry: {rule: 'memory', before: cutoff => forgetUntouched(context, cutoff)},
    records: async function* (owner) {
      let after = 0
      for (;;) {
        const {changes} = await memory.changes(owner, after, limits.memoryPage)
        const last = changes.at(-1)
        if (!last) return
        for (const {item} of changes) if (isRecord(item)) yield item
        after = last.cursor
      }
    },
  }
}
