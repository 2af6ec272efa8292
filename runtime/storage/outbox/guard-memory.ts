import type {DeviceMemoryStore} from '../memory-store.ts'
import type {Guard} from './guard-store.ts'

/** Wraps a memory store so that unsent changes and proposals are in the outbox before they are acknowledged. [LOG-9, MEM-4] */
export function guardMemory(memory: DeviceMemoryStore, {write}: Pick<Guard, 'write'>): DeviceMemoryStore {
  const {queue, runs} = memory
  return {
    ...memory,
    queue: {
      ...queue,
      addChange: async change => {
        await queue.addChange(change)
        await write([{type: 'memory_change', change}], {flush: true})
      },
      dropChange: async id => {
        const dropped = await queue.dropChange(id)
        if (dropped) await write([{type: 'memory_change_dropped', id}], {flush: true})
        return dropped
      },
      refuseChange: async (id, reason) => {
        await queue.refuseChange(id, reason)
        const change = (await queue.changes()).find(one => one.id === id)
        if (change) await write([{type: 'memory_change', change}], {flush: false})
      },
      dropProposals: async ids => {
        await queue.dropProposals(ids)
        await write([{type: 'memory_proposals_dropped', ids: [...ids]}], {flush: false})
      },
    },
    runs: {
      ...runs,
      finish: async (run, found) => {
        await runs.finish(run, found)
        if ('proposals' in found && found.proposals.length > 0) {
          await write([{type: 'memory_proposals', proposals: [...found.proposals]}], {flush: true})
        }
      },
    },
  }
}
