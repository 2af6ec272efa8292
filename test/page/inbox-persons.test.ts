import {describe, expect, test} from 'vitest'
import {
  type InboxMemory,
  type KeptDecision,
  processInboxMemory,
  type SeenInbox,
} from '../../runtime/page/inbox-memory.ts'
import {inboxMemories} from '../../runtime/page/inbox-persons.ts'
import {memoryPeople} from '../../runtime/page/people.ts'
import type {Person} from '../../runtime/protocol/person.ts'

const ana = {tenant: 'shop', subject: 'ana'} as Person
const ben = {tenant: 'shop', subject: 'ben'} as Person
const nothing = {key: null, seen: null, decisions: []}

/** One browser: what an inbox keeps there outlives it, by place. */
function browser() {
  const index = memoryPeople()
  const places = new Map<string, InboxMemory>()
  const memoryAt = (place: string) => {
    const memory = places.get(place) ?? processInboxMemory()
    places.set(place, memory)
    return memory
  }
  return {open: () => inboxMemories(index, memoryAt), index, places}
}

async function fill({memory}: {memory: InboxMemory}, name: string) {
  await memory.saveKey({key: `key of ${name}`, privateKey: null} as never)
  await memory.saveSeen({approvals: [], uncertain: [], seenAt: name.length} as unknown as SeenInbox)
  await memory.saveDecision({signed: {intent: {nonce: name}}} as unknown as KeptDecision)
}

const nonces = async ({memory}: {memory: InboxMemory}) =>
  (await memory.load()).decisions.map(({signed}) => signed.intent.nonce)

describe('[ID-6] two persons at one inbox of a browser', () => {
  test('have keys, lists and signed decisions apart, and offline each finds the last person only', async () => {
    const {open} = browser()
    const inbox = open()
    await inbox.become(ana)
    await fill(inbox, 'ana')
    expect(await inbox.become(ben)).toBe(true)
    expect(await inbox.memory.load()).toEqual(nothing)
    await fill(inbox, 'ben')
    expect(await nonces(open())).toEqual(['ben'])
    await inbox.become(ana)
    expect(await nonces(inbox)).toEqual(['ana'])
  })

  test('a sign-out shows nothing of the first to whoever comes next, and keeps it for them', async () => {
    const {open} = browser()
    const inbox = open()
    await inbox.become(ana)
    await fill(inbox, 'ana')
    await inbox.leave({wipe: false})
    for (const each of [inbox, open()]) expect(await each.memory.load()).toEqual(nothing)
    const next = open()
    await next.become(ben)
    expect(await next.memory.load()).toEqual(nothing)
    await next.become(ana)
    expect(await nonces(next)).toEqual(['ana'])
  })

  test('a wipe deletes what is kept of one person, their name too, and nothing of the other', async () => {
    const {open, index, places} = browser()
    const inbox = open()
    await inbox.become(ana)
    await fill(inbox, 'ana')
    await inbox.become(ben)
    await fill(inbox, 'ben')
    await inbox.become(ana)
    await inbox.leave({wipe: true})
    expect(JSON.stringify(await index.read())).not.toContain('ana')
    const left = await Promise.all([...places.values()].map(memory => memory.load()))
    expect(left.flatMap(({decisions}) => decisions.map(({signed}) => signed.intent.nonce))).toEqual(['ben'])
    await inbox.become(ben)
    expect(await nonces(inbox)).toEqual(['ben'])
  })
})
