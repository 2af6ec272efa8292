import type {EventId, SessionId} from '../../../runtime/protocol/ids.ts'
import type {MemoryChange, MemoryItem, MemoryProposal, MemoryRecord} from '../../../runtime/protocol/memory.ts'
import type {RecallAsk, RecalledMemory} from '../../../runtime/protocol/memory-recall.ts'
import type {MemoryPage, MemoryPushAnswer} from '../../../runtime/protocol/memory-wire.ts'
import {serverEnvironment as env} from '../../../sync-server/environment.ts'
import {call, type Served, type Who} from '../../sync-server/support/caller.ts'
import {testDevice} from '../../sync-server/support/device.ts'

export type Told = {session: SessionId; event: EventId}
export type Refused = {error: {code: string; message: string; details?: {issues?: {field: string; expected: string}[]}}}

/** A person who says things in a session of their own, and what their device asks of memory. */
export function teller(served: Served, who: Who) {
  const said = async (text: string): Promise<Told> => {
    const device = testDevice(who)
    const message = device.post(text)
    await device.push(served, [device.open(), message])
    return {session: device.session, event: message.id}
  }
  const propose = async (proposals: unknown[]) =>
    (await call<MemoryPushAnswer>(served, who, '/v1/memory/proposals', {proposals})).body.verdicts
  return {
    who,
    said,
    propose,
    /** Says it, proposes it, and answers with the id. */
    told: async (text: string, over: Partial<MemoryProposal> = {}) => {
      const one = proposalOf(await said(text), {text, ...over})
      await propose([one])
      return one.id
    },
    change: <T = {item: MemoryItem}>(id: string, change: MemoryChange | object) =>
      call<T>(served, who, `/v1/memory/items/${id}/change`, change),
    page: async (after = 0) => (await call<MemoryPage>(served, who, `/v1/memory/items?after=${after}`)).body,
    item: async (id: string) => {
      const {items} = (await call<MemoryPage>(served, who, '/v1/memory/items')).body
      return items.find(item => item.id === id) as MemoryRecord | undefined
    },
    recall: async (ask: RecallAsk) =>
      (await call<{recalled: RecalledMemory[]}>(served, who, '/v1/memory/recall', ask)).body.recalled,
  }
}

export function proposalOf({session, event}: Told, over: Partial<MemoryProposal> = {}): MemoryProposal {
  return {
    id: env.id('memory'),
    text: 'Prefers store credit to a card refund.',
    key: null,
    kind: 'preference',
    sources: [{session, events: [event]}],
    validFrom: null,
    validUntil: null,
    confidence: 0.9,
    supersedes: null,
    extractor: 'test',
    ...over,
  }
}
