import {describe, expect, test} from 'vitest'
import * as z from 'zod'
import {excerptText} from '../../runtime/loop/excerpt.ts'
import {modelError} from '../../runtime/loop/model-error.ts'
import {opaquePart} from '../../runtime/loop/opaque-part.ts'
import {ReplyBuilder} from '../../runtime/loop/reply-builder.ts'
import {cutText} from '../../runtime/loop/view-sections.ts'
import {saidInRun} from '../../runtime/memory/said-in-run.ts'
import {divergenceOf} from '../../runtime/protocol/divergence.ts'
import {parse} from '../../runtime/protocol/errors.ts'
import {modelFault} from '../../runtime/protocol/model-fault.ts'
import {shortened, textEnd, textStart} from '../../runtime/protocol/text.ts'
import {messageExcerpt} from '../../runtime/storage/message-excerpt.ts'
import {nextReport} from '../../runtime/storage/recovery/recovery-report.ts'
import {allowedOptions} from '../../sync-server/models/allowed-options.ts'
import {failureDetail} from '../../sync-server/models/error.ts'
import {titleFrom} from '../../web-demo/pages/use-desk.ts'
import {wholeCharacters} from '../../web-demo/words/whole-characters.ts'

/** A text whose emoji lies across the limit of `at` characters. */
const across = (at: number) => `${'x'.repeat(at - 1)}👍${'y'.repeat(4000)}`
const never = null as never

const rooms: [string, () => unknown][] = [
  ['the start of a text', () => textStart(across(10), 10)],
  ['the end of a text', () => textEnd(`👍${'x'.repeat(9)}`, 10)],
  ['a shortened text', () => shortened(across(10), 10)],
  ['the name of a field', () => issueOf({[across(80)]: 1})],
  ['the name of a model', () => modelFault(across(100))],
  [
    'the last words of a divergence',
    () => divergenceOf(never, {before: [], events: [replied(`${'x'.repeat(9)}👍${'x'.repeat(299)}`)]}),
  ],
  ['the message of a model error', () => modelError(new Error(across(1000)), 0).message],
  ['an id of a provider', () => callOf({toolCallId: across(500), toolName: 'look', input: '{}'})],
  ['a name that a model calls', () => callOf({toolCallId: 'c', toolName: across(100), input: '{}'})],
  ['the fault of a call', () => callOf({toolCallId: 'c', toolName: across(1977), input: '{}'})],
  ['the kind of an opaque part', () => opaquePart({type: across(100)})],
  ['a text in a view', () => Array.from({length: 4}, (_, i) => cutText('👍'.repeat(500), 200 + i))],
  ['an excerpt in a view', () => Array.from({length: 40}, (_, i) => excerptText('👍'.repeat(5000), 64 + i))],
  ['a line for an extractor', () => saidInRun([said(across(4000))] as never, 'run_1' as never)],
  ['the excerpt of a session', () => messageExcerpt({text: across(120)})],
  ['the detail of two recoveries', () => nextReport(told(across(1999)) as never, recovery('') as never)],
  ['the words of a provider', () => failureDetail(Object.assign(new Error(across(500)), {statusCode: 401}))],
  ['a stop sequence', () => allowedOptions({prompt: [], stopSequences: [across(500)]} as never)],
  ['the title of a conversation', () => titleFrom(`${'x'.repeat(59)}👍 and more`)],
  ['a text of the page', () => wholeCharacters(across(2000), 2000)],
]

describe('[LOG-5] a text that is cut never ends with half a character', () => {
  test.each(rooms)('%s', (_, cut) => {
    const text = JSON.stringify(cut())
    expect(text).not.toMatch(/\\ud[89a-f][0-9a-f]{2}/i)
    expect(text).toMatch(/[x👍]/u)
  })

  test('an excerpt of a session says that it was cut, also after a recovery', () => {
    expect(messageExcerpt({text: across(120)})).toBe(`${'x'.repeat(119)}…`)
  })
})

function issueOf(value: unknown) {
  try {
    return parse(z.strictObject({}), value, 'given')
  } catch (error) {
    return error
  }
}

function callOf(call: object) {
  const builder = new ReplyBuilder({tools: [], environment: {id: () => 'cal_x'} as never, onText: () => undefined})
  builder.take({type: 'tool-call', ...call} as never)
  return builder.cutReply('size').content
}

function replied(text: string) {
  return {kind: 'model.replied', at: 0, data: {content: [{type: 'text', text}]}} as never
}

function said(text: string) {
  return {
    durability: {status: 'device'},
    event: {id: 'evt', session: 'ses', run: 'run_1', at: 0, kind: 'message.posted', data: {text}},
  }
}

const recovery = (detail: string) => ({
  cause: 'damaged',
  restored: 0,
  lost: 0,
  sessions: [],
  emptyTables: [],
  setAside: null,
  detail,
})
const told = (detail: string) => ({dismissed: false, recovery: recovery(detail)})
