import {describe, expect, test} from 'vitest'
import {
  decideMemory,
  evolveMemory,
  isValidAt,
  type MemoryCommand,
  type MemoryItem,
  memoryProposalSchema,
  memoryTransitions,
  proposedMemory,
} from '../../runtime/protocol/memory.ts'
import {foldChanges} from '../../runtime/protocol/memory-fold.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import {proposalOf} from './support/teller.ts'

const told = {session: env.id('session'), event: env.id('event')}
const act = {at: 5, by: {type: 'policy' as const}}
const proposed = proposedMemory(proposalOf(told), 1)
const accepted = evolveMemory(proposed, {do: 'accept'}, act)
const items: Record<MemoryItem['status'], MemoryItem> = {
  proposed,
  accepted,
  corrected: evolveMemory(accepted, {do: 'correct', text: 'Other words.', revision: 2}, act),
  superseded: evolveMemory(accepted, {do: 'supersede', by: env.id('memory')}, act),
  expired: evolveMemory(accepted, {do: 'expire'}, act),
  refused: evolveMemory(proposed, {do: 'refuse'}, act),
  forgotten: evolveMemory(accepted, {do: 'forget'}, act),
}
const commands: MemoryCommand[] = [
  {do: 'accept'},
  {do: 'refuse'},
  {do: 'correct', text: 'New words.', revision: 2},
  {do: 'supersede', by: env.id('memory')},
  {do: 'expire'},
  {do: 'forget'},
]

describe('the states of a memory', () => {
  const pairs = Object.values(items).flatMap(item =>
    commands.map(command => ({status: item.status, do: command.do, item, command})),
  )
  test.each(pairs)('[MEM-3] to $do one that is $status is allowed, a repeat, or refused by name', ({item, command}) => {
    const verdict = decideMemory(item, command)
    if (verdict.refusal) {
      expect(verdict.refusal).toMatchObject({met: expect.stringMatching(new RegExp(`${item.status}|revision`))})
      return
    }
    const after = evolveMemory(item, command, act)
    if (verdict.repeat) expect(decideMemory(after, command)).toEqual({refusal: null, repeat: true})
    else expect(memoryTransitions[command.do]).toContain(item.status)
  })

  test('[MEM-3] what is refused or forgotten is an id and nothing that was said', () => {
    for (const status of ['refused', 'forgotten'] as const) {
      expect(Object.keys(items[status]).sort()).toEqual(['id', 'status', 'updatedAt'])
      for (const command of commands) expect(evolveMemory(items[status], command, act)).toBe(items[status])
    }
  })

  test('[MEM-3] only what is in force is valid, from its first moment to before its last', () => {
    const from = (over: object) => ({...(accepted as object), ...over}) as MemoryItem
    const valid = Object.values(items).filter(item => isValidAt(item, 10))
    expect(valid.map(({status}) => status)).toEqual(['accepted', 'corrected'])
    expect([9, 10, 19, 20].map(now => isValidAt(from({validFrom: 10, validUntil: 20}), now))).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  test('[MEM-2] a proposal without a source, or that ends before it begins, names the field', () => {
    const faults = [{sources: []}, {validFrom: 20, validUntil: 10}, {key: 'Not A Key'}, {text: ' '}].map(over => {
      const parsed = memoryProposalSchema.safeParse(proposalOf(told, over))
      return parsed.error?.issues.map(({path, message}) => `${path.join('.')}: ${message}`)
    })
    expect(faults).toEqual([
      ['sources: expected the events that it was made from'],
      ['validUntil: expected a moment after validFrom'],
      ['key: expected lower-case words joined by "/", like "preference/refund-channel"'],
      ['text: expected a text that is not blank'],
    ])
  })

  test('[MEM-4] the device shows what its own changes will make of the items, and leaves out what cannot be', () => {
    const key = 'fact/home'
    const old = evolveMemory(proposedMemory(proposalOf(told, {key, text: 'Porto.'}), 1), {do: 'accept'}, act)
    const next = proposedMemory(proposalOf(told, {key, text: 'Ghent.'}), 2)
    const folded = foldChanges(
      [old, next],
      [
        {item: next.id, change: {do: 'accept'}},
        {item: env.id('memory'), change: {do: 'forget'}},
        {item: old.id, change: {do: 'accept'}},
      ],
      act,
    )
    expect(folded.map(({status}) => status)).toEqual(['superseded', 'accepted'])
  })

  test('[MEM-3] the history is bounded, and its latest changes are the ones that are kept', () => {
    let item: MemoryItem = accepted
    for (let i = 0; i < 60; i++) item = evolveMemory(item, {do: 'correct', text: `Words ${i}.`, revision: i + 2}, act)
    expect(item).toMatchObject({revision: 62, text: 'Words 59.'})
    expect('history' in item && item.history).toHaveLength(20)
    expect('history' in item && item.history.at(-1)?.was).toBe('Words 58.')
  })
})
