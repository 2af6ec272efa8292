import type {PGlite} from '@electric-sql/pglite'
import fc from 'fast-check'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {type Json, jsonBytes, jsonObjectSchema, jsonSchema} from '../../runtime/protocol/json.ts'
import {limits} from '../../runtime/protocol/version.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {scribe} from '../support/events.ts'

/** Any text of UTF-16 units: NUL, lone surrogates and all. */
const text = fc.array(fc.integer({min: 0, max: 0xffff}), {maxLength: 8}).map(units => String.fromCharCode(...units))
const number = fc.oneof(
  fc.maxSafeInteger(),
  fc.double({noNaN: true, noDefaultInfinity: true}).filter(n => jsonSchema.safeParse(n).success),
)
const {value: json} = fc.letrec<{value: Json}>(tie => ({
  value: fc.oneof(
    {depthSize: 'small'},
    fc.constant(null),
    fc.boolean(),
    number,
    text,
    fc.array(tie('value'), {maxLength: 4}),
    fc.dictionary(
      text.filter(key => key !== '__proto__'),
      tie('value'),
      {maxKeys: 4, noNullPrototype: true},
    ),
  ),
}))

function nested(levels: number): Json {
  let value: Json = 'deep'
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

describe('what JSON text gives back', () => {
  test('[LOG-5] every accepted value comes back from JSON text exactly', () => {
    fc.assert(
      fc.property(json, value => {
        expect(jsonSchema.parse(value)).toBe(value)
        expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value)
      }),
    )
  })

  test('[LOG-5] whatever is thrown at the schema is refused, or comes back exactly', () => {
    fc.assert(
      fc.property(fc.anything({withSparseArray: true, withDate: true, withMap: true, withBigInt: true}), value => {
        if (!jsonSchema.safeParse(value).success) return
        expect(JSON.parse(JSON.stringify(value))).toEqual(value)
      }),
      {numRuns: 500},
    )
  })

  test('[LOG-5] bytes are counted as UTF-8 would have them, halves of characters included', () => {
    fc.assert(
      fc.property(json, value => {
        expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)))
      }),
    )
  })

  const refused: [string, unknown, string][] = [
    ['minus zero', {a: -0}, 'expected 0, got −0'],
    ['2^53', {a: 2 ** 53}, 'send a larger one as a string'],
    ['−2^53', {a: -(2 ** 53)}, 'send a larger one as a string'],
    ['NaN', [Number.NaN], 'a finite number'],
    ['Infinity', Number.POSITIVE_INFINITY, 'a finite number'],
    ['undefined inside', {a: undefined}, 'expected JSON, got undefined'],
    ['a hole', Object.assign([1], {length: 3}), 'expected JSON, got undefined'],
    ['a function', {a: () => 1}, 'expected JSON, got function'],
    ['a bigint', 1n, 'expected JSON, got bigint'],
    ['a symbol', Symbol('s'), 'expected JSON, got symbol'],
    ['a date', {a: new Date(0)}, 'expected a plain object, got Date'],
    ['a map', new Map(), 'expected a plain object, got Map'],
    ['__proto__', JSON.parse('{"__proto__": {"admin": true}}'), 'no key named "__proto__"'],
    ['__proto__ deep down', {a: [JSON.parse('{"__proto__": 1}')]}, 'no key named "__proto__"'],
    ['65 levels', nested(limits.jsonDepth + 1), 'at most 64 levels'],
  ]
  test.each(refused)('[LOG-5] %s is refused by name', (_, value, why) => {
    const result = jsonSchema.safeParse(value)
    expect(result.error?.issues[0]?.message).toContain(why)
  })

  test('[LOG-5] a value that holds itself is refused instead of being followed for ever', () => {
    const loop: {[key: string]: unknown} = {}
    loop.self = loop
    expect(jsonSchema.safeParse(loop).success).toBe(false)
  })

  test('[LOG-5] the fault names the place', () => {
    expect(jsonSchema.safeParse({order: {lines: [1, -0]}}).error?.issues[0]?.path).toEqual(['order', 'lines', 1])
  })

  const edges: [string, Json][] = [
    ['64 levels', nested(limits.jsonDepth)],
    ['2^53 − 1', 2 ** 53 - 1],
    ['2^53 as a string', '9007199254740992'],
    ['the smallest number', 5e-324],
    ['numbers with an exponent', [1e308, -1e21, 1.7976931348623157e308]],
    ['empty containers', {a: [], b: {}, '': ''}],
  ]
  test.each(edges)('[LOG-5] %s is taken', (_, value) => expect(jsonSchema.safeParse(value).success).toBe(true))

  test.each([[[]], [null], ['text'], [1]])('[LOG-5] %j is no JSON object', value => {
    expect(jsonObjectSchema.safeParse(value).success).toBe(false)
  })
})

describe('what the device gives back', () => {
  let database: {db: PGlite; close(): Promise<void>}
  let store: DeviceStore
  beforeAll(async () => {
    database = await openNodeDatabase({dataDir: 'memory://'})
    store = await openPGliteStore(database.db, env)
  })
  afterAll(() => database.close())

  test('[LOG-5] any payload and any message text comes back from the database exactly', async () => {
    await fc.assert(
      fc.asyncProperty(json, text, async (output, said) => {
        const {event, names} = scribe()
        const returned = event('tool.returned', {data: {call: names.read, outcome: 'ok', output}})
        const posted = event('message.posted', {data: {text: said || '-'}})
        await store.transaction(unit => unit.append([returned, posted], 0))
        const read = (await store.read(names.session, 10)).map(each => each.event)
        expect(read).toStrictEqual([returned, posted])
      }),
      {numRuns: 60},
    )
  })
})
