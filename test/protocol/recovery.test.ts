import {expect, test} from 'vitest'
import {type Recovery, recoverySchema, recoverySentences} from '../../runtime/protocol/recovery.ts'

const nothing: Recovery = {
  id: '00000000-0000-4000-8000-000000000000',
  cause: 'damaged',
  at: 1,
  restored: 0,
  refilling: 0,
  lost: 0,
  sessions: [],
  emptyTables: [],
  setAside: null,
  detail: 'XX001',
}

test.each<[Partial<Recovery>, string]>([
  [{}, 'Stored data on this device was damaged. No entry was lost.'],
  [
    {cause: 'behind', restored: 1},
    'Stored data on this device was older than what had been saved. 1 entry that had not reached the server was restored. No entry was lost.',
  ],
  [
    {cause: 'emptied', restored: 2, refilling: 40, lost: 3},
    'Stored data on this device was missing. 2 entries that had not reached the server were restored. 40 entries will be fetched from the server again. 3 entries could not be restored.',
  ],
  [
    {cause: 'old_layout', lost: null, emptyTables: ['notes']},
    'Stored data on this device was written by an older version. Some entries that had not reached the server may be lost. Data that the agent kept in tables of its own could not be restored.',
  ],
])('[LOG-9] a person is told what came back and what did not: %j', (found, words) => {
  expect(recoverySentences(recoverySchema.parse({...nothing, ...found})).join(' ')).toBe(words)
})
