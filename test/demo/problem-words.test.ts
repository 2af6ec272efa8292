import {describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/index.ts'
import {errorCodes} from '../../runtime/protocol/errors.ts'
import {type OpeningCauseKind, openingCause} from '../../runtime/protocol/opening.ts'
import {openingWords} from '../../web-demo/words/opening.ts'
import {problemOf} from '../../web-demo/words/problem.ts'

describe('what a person is told when something fails', () => {
  test.for(['internal', 'not_durable', 'database_damaged', 'peer_gone', 'deadline', 'storage_full'] as const)(
    '%s: no message of the database and no method name, which stand in the details',
    code => {
      const raw = 'could not extend file "base/5/16384": PostgresMainLoopOnce'
      const {words, details} = problemOf(new HoldfastError(code, raw))
      expect(words).not.toMatch(/Postgres|base\/5|MainLoop|\w+\(\)/)
      expect(details).toContain(raw)
    },
  )

  test.for([...errorCodes])('%s: is a sentence', code => {
    expect(problemOf(new HoldfastError(code, 'A sentence.')).words).toMatch(/^[A-Z].*\.$/s)
  })
})

describe('what a person is told while the desk is not open', () => {
  const kinds: OpeningCauseKind[] = ['new_version', 'wrong_answer', 'engine', 'no_room', 'storage_blocked', 'unknown']
  test.for(kinds)('%s: what is the matter, when the next try is, and details apart', kind => {
    const cause = openingCause(kind, 'QuotaExceededError: raw')
    const opening = {state: 'opening', step: 'database', since: 0, attempt: 2, cause, nextAt: 5_000} as const
    const words = openingWords(opening, 1_000)
    expect(words).toMatchObject({title: 'The desk cannot open yet', details: 'QuotaExceededError: raw'})
    expect(words?.sentences).toEqual([cause.message, 'The next try is in 4 seconds.'])
  })

  test('another tab that does not answer is named, with when this one takes over', () => {
    const words = openingWords({state: 'blocked', by: 'frozen_tab', since: 0, nextAt: 7_000}, 1_000)
    expect(words?.title).toBe('Another tab does not answer')
    expect(words?.sentences).toContain('This tab takes it over in 6 seconds.')
  })

  test('an open desk says nothing', () => {
    expect(openingWords({state: 'open', role: 'leader', storage: null}, 0)).toBeNull()
  })
})
