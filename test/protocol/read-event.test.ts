import {describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type Envelope, isReadable, type Kind, readEvent} from '../../runtime/protocol/event.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {readStored} from '../../runtime/storage/read-stored.ts'
import {scribe} from '../support/events.ts'

const {envelope, data} = scribe()
const kinds = Object.keys(data) as Kind[]
const fields = kinds.flatMap(kind => Object.keys(data[kind]).map(field => [kind, field] as const))

function refusalOf(value: unknown): HoldfastError {
  try {
    readEvent(value)
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
  throw new Error('the event was taken')
}

describe('data', () => {
  test.each(kinds)('[LOG-4] a whole event of %s is read and not changed', kind => {
    const event = envelope(kind)
    const read = readEvent(event)
    expect(isReadable(read)).toBe(true)
    expect(read).toStrictEqual(event)
  })

  test.each(fields)('[LOG-4] %s with a %s of the wrong type is refused by that name', (kind, field) => {
    const wrong = ['input', 'output', 'receipt'].includes(field) ? -0 : [null]
    const broken = {...envelope(kind), data: {...data[kind], [field]: wrong}}
    const error = refusalOf(broken)
    expect(error.code).toBe('bad_input')
    expect(error.message).toMatch(new RegExp(`^event(\\(${kind}\\))?\\.data\\.${field}`))
  })

  test.each(kinds)('[LOG-4] a field that %s does not have is refused, not dropped', kind => {
    const error = refusalOf({...envelope(kind), data: {...data[kind], surprise: 1}})
    expect(error.message).toContain('surprise')
  })
})

describe('envelope', () => {
  const good = envelope('message.posted')
  const broken: [string, unknown][] = [
    ['id', 'evt_1'],
    ['session', good.device],
    ['seq', 0],
    ['seq', 1.5],
    ['device', 'laptop'],
    ['deviceSeq', -1],
    ['kind', 'Message'],
    ['kind', 'message'],
    ['data', []],
    ['data', null],
    ['actor', {type: 'person'}],
    ['actor', {type: 'root', subject: 'maya'}],
    ['run', 'run_1'],
    ['epoch', 0],
    ['attempt', '1'],
    ['causes', ['x']],
    ['at', 'now'],
    ['v', 0],
  ]
  test.each(broken)('[LOG-4] %s = %j is refused by name', (field, value) => {
    const error = refusalOf({...good, [field]: value})
    expect(error).toMatchObject({code: 'bad_input', message: expect.stringContaining(`event.${field}`)})
  })

  test.each([[null], [undefined], ['{}'], [[]], [42]])('[LOG-4] %j is no event', value => {
    expect(refusalOf(value).code).toBe('bad_input')
  })

  test('[LOG-4] an event over the limit is refused with both sizes', () => {
    const event = envelope('tool.returned')
    const output = 'x'.repeat(limits.eventBytes)
    const error = refusalOf({...event, data: {...data['tool.returned'], output}})
    expect(error).toMatchObject({code: 'too_large', details: {limit: limits.eventBytes, field: 'data'}})
  })
})

describe('what this version does not know', () => {
  const newer: [string, Partial<Envelope>, string][] = [
    ['an unknown kind', {kind: 'goal.closed', data: {anything: ['goes', null]}}, 'kind "goal.closed" is not known'],
    ['a newer version', {v: 2, data: {text: 'hi', tone: 'kind'}}, 'version 2 of "message.posted" is newer than 1'],
    ['a newer version of a kind that has had two', {kind: 'step.prepared', v: 3, data: {}}, 'is newer than 2'],
    ['a kind named like a method', {kind: 'message.constructor'}, 'is not known'],
  ]
  test.each(newer)('[LOG-4] %s is kept whole and says why it cannot be read', (_, change, why) => {
    const event = {...envelope('message.posted'), ...change}
    const read = readEvent(event)
    expect(isReadable(read)).toBe(false)
    const {unreadable, ...kept} = read as Envelope & {unreadable: string}
    expect(unreadable).toContain(why)
    expect(kept).toStrictEqual(event)
  })

  test('[LOG-4] a stored row that no schema takes is kept and shown too', () => {
    const row = {...envelope('message.posted'), data: {text: 7}}
    expect(readStored(row)).toMatchObject({...row, unreadable: expect.stringContaining('data.text')})
  })
})
