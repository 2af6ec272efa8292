import {HoldfastError} from '../protocol/errors.ts'
import type {MemoryId} from '../protocol/ids.ts'
import type {MemoryProposal} from '../protocol/memory.ts'
import type {DeviceMemoryStore, QueuedChange} from '../storage/memory-store.ts'
import type {ServerLink} from './server-link.ts'

export type MemoryLink = Pick<ServerLink, 'pushMemory' | 'pullMemory' | 'changeMemory'>

export type MemorySyncParts = {
  link: MemoryLink
  store: Pick<DeviceMemoryStore, 'replica' | 'queue'>
  now(): number
  /** Whether the server has the events that a proposal was made from; `gone` when it never will. */
  sourcesOf(proposal: MemoryProposal): Promise<'confirmed' | 'pending' | 'gone'>
}

/** So many proposals, each at its largest, stay under the limit of a request's body. */
const pushedAtOnce = 20

/** Answers that will be the same next time: the change is not tried again. */
const finalCodes = ['not_found', 'refused', 'conflict', 'bad_input', 'too_large', 'forbidden'] as const

/**
 * Brings memory level with the server: proposals whose sources it has, then the person's changes in their order, then
 * what is new there. Restartable anywhere: whatever was sent and not answered is sent again and changes nothing more.
 * [MEM-4, SYNC-4]
 */
export async function syncMemory(parts: MemorySyncParts): Promise<void> {
  const judged = await pushProposals(parts)
  await sendChanges(parts, judged)
  await pullMemory(parts)
  // Only now: else what was proposed would be nowhere between the verdict and the pull.
  await parts.store.queue.dropProposals([...judged])
}

/** Answers with those that the server has judged. */
async function pushProposals({link, store, now, sourcesOf}: MemorySyncParts): Promise<Set<MemoryId>> {
  const changes = await store.queue.changes()
  const ready: MemoryProposal[] = []
  for (const proposal of await store.queue.proposals()) {
    const forget = changes.find(({item, change}) => item === proposal.id && change.do === 'forget')
    const sources = await sourcesOf(proposal)
    // What its subject forgets before it was sent never leaves the device.
    if (sources === 'gone' || (forget && forget.notBefore <= now())) await store.queue.dropProposals([proposal.id])
    else if (sources === 'confirmed' && !forget) ready.push(proposal)
  }
  const judged = new Set<MemoryId>()
  for (let i = 0; i < ready.length; i += pushedAtOnce) {
    const {verdicts} = await link.pushMemory(ready.slice(i, i + pushedAtOnce))
    const answered = new Set<string>(verdicts.map(({id}) => id))
    for (const {id} of ready) if (answered.has(id)) judged.add(id)
  }
  return judged
}

async function sendChanges({link, store, now}: MemorySyncParts, judged: ReadonlySet<MemoryId>): Promise<void> {
  const unsent = new Set((await store.queue.proposals()).flatMap(({id}) => (judged.has(id) ? [] : [id])))
  for (const queued of await store.queue.changes()) {
    if (queued.refused !== null || queued.notBefore > now() || unsent.has(queued.item)) continue
    await sendChange({link, store}, queued)
  }
}

async function sendChange({link, store}: Pick<MemorySyncParts, 'link' | 'store'>, queued: QueuedChange): Promise<void> {
  try {
    const item = await link.changeMemory(queued.item, queued.change)
    await store.replica.receive([item], null)
    await store.queue.dropChange(queued.id)
  } catch (error) {
    if (!HoldfastError.is(error, ...finalCodes)) throw error
    // An item that the server does not have is forgotten there already.
    if (error.code === 'not_found' && queued.change.do === 'forget') await store.queue.dropChange(queued.id)
    else await store.queue.refuseChange(queued.id, error.message)
  }
}

async function pullMemory({link, store}: MemorySyncParts): Promise<void> {
  let {cursor} = await store.replica.read()
  for (;;) {
    const page = await link.pullMemory(cursor)
    if (page.cursor < cursor) {
      // Not the memory that this device knows: the server was set back, so the copy is made anew.
      await store.replica.startOver()
      cursor = 0
      continue
    }
    const moved = page.cursor > cursor
    if (moved || page.items.length > 0) await store.replica.receive(page.items, page.cursor)
    cursor = page.cursor
    // A server that says "more" but does not move must not make us loop.
    if (!page.more || !moved) return
  }
}
