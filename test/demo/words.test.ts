import {describe, expect, test} from 'vitest'
import {shiftedCaret} from '../../web-demo/components/shared-editors.tsx'
import {euros} from '../../web-demo/money.ts'
import {titleFrom} from '../../web-demo/pages/use-desk.ts'
import type {ApproverKey, ModelView, SessionView, ToolEntry} from '../../web-demo/runtime-types.ts'
import {ago} from '../../web-demo/tool-outputs.ts'
import {aboutWords, remaining} from '../../web-demo/words/approval.ts'
import {budgetWords} from '../../web-demo/words/budget.ts'
import {closingSentences, endedWords, whyNotClosed} from '../../web-demo/words/closing.ts'
import {deviceName, sortedKeys} from '../../web-demo/words/device.ts'
import {seenParts, sizeWords, verdictWords} from '../../web-demo/words/model-view.ts'
import {routeWords} from '../../web-demo/words/passport.ts'
import {tellRefund} from '../../web-demo/words/refund.ts'
import {boundWords, lateCorrection, modelWords} from '../../web-demo/words/session.ts'
import {tellTool} from '../../web-demo/words/tool.ts'

type Operation = NonNullable<ToolEntry['operation']>
type OpenOperation = SessionView['openOperations'][number]

function card(operation: Partial<Operation> | null, over: Partial<ToolEntry> = {}): ToolEntry {
  const base = {
    id: 'o',
    reason: null,
    receipt: null,
    approval: null,
    decidedBy: null,
    settledBy: null,
    status: 'proposed' as const,
  }
  return {
    id: 'e' as ToolEntry['id'],
    at: 0,
    type: 'tool',
    call: 'c',
    tool: 'refundOrder',
    input: {orderId: 'A17', cents: 2000, reason: 'Broken'},
    result: null,
    durability: {status: 'server', seq: 4},
    operation: operation && {...base, ...operation},
    ...over,
  }
}

describe('a refund card', () => {
  test.for<[Partial<Operation> | null, string, string]>([
    [null, 'Being prepared', ''],
    [{status: 'awaiting_approval', reason: 'Large'}, 'Waiting for approval', 'Large'],
    [{status: 'authorised', reason: 'Within policy'}, 'Allowed by policy', 'Within policy'],
    [{status: 'authorised', decidedBy: 'theo'}, 'Approved by Theo', ''],
    [{status: 'rejected', decidedBy: 'theo', reason: 'No photo.'}, 'Rejected by Theo', '“No photo.” No money moved.'],
    [{status: 'refused', reason: 'Too much.'}, 'Refused by the server', 'Too much. No money moved.'],
    [
      {status: 'voided', reason: 'A newer instruction arrived.'},
      'Withdrawn',
      'A newer instruction arrived. No money moved.',
    ],
    [
      {status: 'executed', receipt: {refund: 'R-7', orderId: 'A17', cents: 2000, remainingCents: 0}, decidedBy: 'theo'},
      'Refunded',
      'Approved by Theo. Receipt R-7',
    ],
  ])('%o is "%s"', ([operation, state, detail]) => {
    expect(tellRefund(card(operation))).toMatchObject({state, detail})
  })

  test('never says that no money moved when nobody knows', () => {
    for (const status of ['uncertain', 'started', 'failed'] as const) {
      expect(tellRefund(card({status, reason: 'time-out'})).detail).not.toMatch(/no money moved/i)
    }
  })

  test('says when the proposal itself is only on this device', () => {
    expect(tellRefund(card({}, {durability: {status: 'device'}})).state).toBe('Only on this device')
  })
})

describe('the warning of a correction that the server does not have', () => {
  const open = (over: Partial<OpenOperation>) =>
    ({
      status: 'authorised',
      input: {orderId: 'A17', cents: 2000},
      voidable: true,
      unsentVoid: null,
      ...over,
    }) as OpenOperation
  const warned = (...openOperations: OpenOperation[]) => lateCorrection({openOperations})

  test('[RUN-4] names every refund that may still be paid, and what has not arrived', () => {
    expect(
      warned(open({unsentVoid: 'message'}), open({input: {orderId: 'B22', cents: 500}, unsentVoid: 'message'})),
    ).toBe(
      'Your newest message has not reached the server. Until it does, the refund of €20.00 for A17 and €5.00 for B22 may still be paid.',
    )
    expect(warned(open({unsentVoid: 'cancel'}))).toContain('That you stopped the run has not reached the server.')
  })

  test('is silent when nothing unsent voids a refund, and leaves closing to its own note', () => {
    expect(warned()).toBeNull()
    expect(warned(open({}))).toBeNull()
    expect(warned(open({unsentVoid: 'close'}))).toBeNull()
  })
})

test('a failed lookup is not told as a lookup', () => {
  const lookup = (result: ToolEntry['result']) => tellTool(card(null, {tool: 'lookupOrder', result}))
  expect(lookup(null)).toBe('Looking up order A17')
  expect(lookup({outcome: 'error', output: {}})).toBe('Could not look up order A17')
  expect(lookup({outcome: 'ok', output: {unavailable: 'offline'}})).toBe('Order A17 cannot be seen offline')
  expect(lookup({outcome: 'ok', output: {found: false, orderId: 'A17'}})).toBe('There is no order A17')
})

test('the rules provider never passes for a language model', () => {
  expect(modelWords('holdfast-demo/rules')).toBe('Rules provider – not a language model')
  expect(modelWords('gateway/small')).toBe('small, through the server')
  expect(modelWords('other/small')).toBe('other/small')
})

test.for([
  ['abc', 'Xabc', 2, 3],
  ['abc', 'abcX', 2, 2],
  ['abcdef', 'abef', 5, 3],
  ['', 'abc', 0, 0],
] as const)('a caret in %o keeps its place when it becomes %o', ([before, after, caret, expected]) => {
  expect(shiftedCaret(before, after, caret)).toBe(expected)
})

test('amounts, ages and titles', () => {
  expect([euros(0), euros(5), euros(123_456_789), euros(-250)]).toEqual(['€0.00', '€0.05', '€1,234,567.89', '−€2.50'])
  expect([ago(5_000), ago(60_000), ago(180_000), ago(7_200_000), ago(172_800_000)]).toEqual([
    'less than a minute ago',
    '1 minute ago',
    '3 minutes ago',
    '2 hours ago',
    '2 days ago',
  ])
  expect([remaining(-1), remaining(60_000), remaining(7_200_000)]).toEqual(['expired', '1 min left', '2 h left'])
  expect(titleFrom(`${'word '.repeat(20)}\nsecond line`)).toMatch(/^(word )+word…$/)
})

describe('budget and route', () => {
  const bounds: Parameters<typeof budgetWords>[0] = [
    {name: 'steps', used: 2, limit: 20, applies: true, why: null},
    {name: 'tokens', used: 12_345, limit: 2_000_000, applies: true, why: null},
    {name: 'cost', used: null, limit: 5, applies: false, why: 'No prices.'},
    {name: 'wall', used: 12_400, limit: 3_600_000, applies: true, why: null},
  ]

  test('[BUD-2] what is used stands beside its bound; what cannot be measured is left out', () => {
    expect(budgetWords(bounds)).toBe('2 of 20 steps, 12,345 of 2,000,000 tokens, 12 of 3,600 seconds of work')
  })

  test('[BUD-2] only a run that asks for more says so', () => {
    const passport = {bounds} as NonNullable<SessionView['passport']>
    expect(boundWords({status: 'alerted', passport})).toMatch(/2 of 20 steps.*until you decide/)
    expect(boundWords({status: 'running', passport})).toBeNull()
  })

  test.each([
    [{rule: 'newest-build', table: 'default/1'}, 'the newest version on this device'],
    [{rule: 'active-version', table: 'default/1'}, 'the version that is active for everybody'],
    [{rule: 'vip', table: 'mine/3'}, 'rule “vip” of table mine/3'],
  ])('[PIN-1] %o was chosen by %s', (route, words) => {
    expect(routeWords(route)).toBe(words)
  })
})

describe('what the model saw', () => {
  const view = {
    exact: true,
    lacking: [],
    number: 2,
    estimatedTokens: 1234,
    transforms: [
      {part: 'evt_1', how: 'redacted'},
      {part: 'evt_2', how: 'redacted'},
    ],
    prompt: [
      {role: 'system', content: 'Be brief.'},
      {
        role: 'user',
        content: [
          {type: 'text', text: 'Context'},
          {type: 'text', text: 'Working state'},
        ],
      },
      {role: 'user', content: [{type: 'text', text: 'Refund A17'}]},
      {
        role: 'assistant',
        content: [{type: 'tool-call', toolCallId: 'p', toolName: 'lookupOrder', input: {orderId: 'A17'}}],
      },
      {role: 'tool', content: [{type: 'tool-result', toolName: 'lookupOrder', output: {type: 'json', value: 1}}]},
    ],
  } as unknown as ModelView

  test('[VIEW-2] is told message by message, in words, with nothing left out', () => {
    expect(seenParts(view)).toEqual([
      {place: 0, title: 'Instructions', text: 'Be brief.'},
      {place: 1, title: 'Working state, documents and summary', text: 'Context\n\nWorking state'},
      {place: 2, title: 'Person', text: 'Refund A17'},
      {place: 3, title: 'Agent', text: 'Calls lookupOrder with {"orderId":"A17"}'},
      {place: 4, title: 'Results', text: 'lookupOrder: {"type":"json","value":1}'},
    ])
    expect(sizeWords(view)).toBe('Step 2, about 1,234 tokens; an entry without its secrets')
  })

  test('[VIEW-2] says whether the record still proves it', () => {
    expect(verdictWords(view)).toContain('exactly the bytes')
    expect(verdictWords({...view, exact: false})).toContain('missing')
  })
})

describe('closing a conversation', () => {
  const view = (over: Partial<SessionView>) =>
    ({status: 'idle', entries: [], openOperations: [], closed: null, erased: null, ...over}) as SessionView
  const said = (over: Partial<SessionView>, connection: 'live' | 'cut' = 'live') =>
    closingSentences(view(over), connection).join(' ')

  test('[RUN-9] says what is withdrawn and what is not, before it is done', () => {
    const waiting = {voidable: true, input: {orderId: 'A17', cents: 2000}}
    const openOperations = [waiting, {...waiting, voidable: false}] as Partial<OpenOperation>[] as OpenOperation[]
    expect(said({status: 'waiting_for_approval', openOperations})).toBe(
      'Nobody can write to it any more, and it cannot be opened again. It can still be read and branched from. ' +
        'The agent stops where it is. The refund of €20.00 for A17 is withdrawn, if it has not started by then. ' +
        'What is being paid out now is not stopped by it.',
    )
    expect(said({})).not.toMatch(/withdrawn|paid/)
  })

  test('[RUN-4] says that it does not count until the server has heard of it', () => {
    expect(said({}, 'cut')).toContain('what was approved may still be paid')
    expect(endedWords(view({closed: 'device'}))?.detail).toContain('has not heard of it yet')
    expect(endedWords(view({closed: 'server'}))?.detail).toBe('It can be read and branched from.')
    expect(endedWords(view({}))).toBeNull()
  })

  test('[RUN-9] says why it cannot be done', () => {
    expect(whyNotClosed(view({}))).toBeNull()
    expect(whyNotClosed(view({status: 'closed'}))).toBe('it is closed already')
    expect(whyNotClosed(view({erased: {at: 0, why: 'requested', unsent: 0}}))).toBe('it was erased')
  })
})

describe('the devices that may decide offline', () => {
  const key = (name: string, createdAt: number, revokedAt: number | null = null) =>
    ({key: name, label: name, createdAt, revokedAt}) as ApproverKey

  test('stand in order: this one, the others in force, the last few that are over', () => {
    const keys = [key('a', 5), key('own', 4), ...[1, 2, 3, 4].map(at => key(`over-${at}`, 0, at))]
    expect(sortedKeys(keys, 'own').map(({label}) => label)).toEqual(['own', 'a', 'over-4', 'over-3', 'over-2'])
  })

  test.each([
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36', 'Chrome on Linux'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1', 'Safari on iOS'],
    ['Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Windows'],
    ['Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/140.0.0.0 Safari/537.36', 'Chrome on Linux'],
    ['curl', 'Browser'],
  ])('"%s" is called %s', (userAgent, name) => {
    expect(deviceName(userAgent)).toBe(name)
  })

  test('[RET-2] a decision about what was erased is told without its words', () => {
    const shown = {tool: 'refundOrder', version: '1', input: null}
    expect(aboutWords({shown})).toBe('a refund that was erased')
    expect(aboutWords({shown: {...shown, input: {orderId: 'A17', cents: 2000}}})).toBe('€20.00 for order A17')
  })
})
