import fc from 'fast-check'
import {beforeAll, describe, expect, test} from 'vitest'
import type {Json} from '../../runtime/protocol/json.ts'
import {createSyncServer, type SyncServer} from '../../sync-server/index.ts'
import {headersOf, trustingAuth} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {logOf} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const who = {tenant: 'values', subject: 'ana'}
let server: SyncServer
beforeAll(() => {
  server = underContract(
    createSyncServer({
      store: database.store,
      authenticate: trustingAuth,
      facts: {read: async () => null},
      operations: {},
    }),
  )
})

/** Pushes a value as the input of a proposed operation and reads it back from log and ledger. */
async function roundTrip(value: Json) {
  const device = testDevice(who)
  const refund = device.refund(value)
  const answer = await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const proposed = (await logOf(server, who, device.session)).find(event => event.kind === 'operation.proposed')
  const ledger = await database.store.ledger.operation({tenant: who.tenant as never, operation: refund.operation})
  return {answer, inLog: (proposed?.data as {input: Json} | undefined)?.input, inLedger: ledger?.input}
}

const deep = (levels: number): Json => (levels === 0 ? 'bottom' : [deep(levels - 1)])

describe('values', () => {
  test.each<[string, Json]>([
    ['NUL', 'a\0b'],
    ['a key with NUL', {'\0': '\0'}],
    ['a lone high surrogate', '\ud800'],
    ['a lone low surrogate in a key', {'\udfff': 1}],
    ['emoji', '👩‍👩‍👧 é é'],
    ['2^53 and beyond as strings', ['9007199254740993', 2 ** 53 - 1, -(2 ** 53 - 1)]],
    ['empty values', ['', [], {}, null, 0, false]],
    ['deep nesting', deep(50)],
    ['small and large floats', [1e-300, 123456789.123, -0.1]],
    ['what looks like SQL and escapes', `'; DROP TABLE hf_events; -- \\u0000 \\x00 $1`],
    ['line separators', '\u2028\u2029\r\n\t\u007f\ufeff\uffff'],
  ])('[LOG-5] %s comes back exactly', async (_, value) => {
    const {answer, inLog, inLedger} = await roundTrip(value)
    expect(answer.verdicts.every(verdict => verdict.status === 'accepted')).toBe(true)
    expect(inLog).toEqual(value)
    expect(inLedger).toEqual(value)
  })

  test('[LOG-5] any JSON value comes back exactly', async () => {
    const text = fc.string({unit: 'binary', maxLength: 8})
    const scalar = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null))
    const {value} = fc.letrec<{value: Json}>(tie => ({
      value: fc.oneof(
        {maxDepth: 4},
        scalar,
        fc.array(tie('value'), {maxLength: 4}),
        fc.dictionary(
          text.filter(key => key !== '__proto__'),
          tie('value'),
          {maxKeys: 4, noNullPrototype: true},
        ),
      ),
    }))
    await fc.assert(
      fc.asyncProperty(value, async json => {
        const {inLog, inLedger} = await roundTrip(json)
        expect(inLog).toEqual(json)
        expect(inLedger).toEqual(json)
      }),
      {numRuns: 15},
    )
  })

  test.each([
    ['a "__proto__" key in its data', '{"text":"x","__proto__":{"a":1}}'],
    ['an integer beyond 2^53', '{"text":9007199254740993}'],
    ['more nesting than 64', `{"text":${'['.repeat(80)}${']'.repeat(80)}}`],
    ['a negative zero', '{"text":-0.0}'],
  ])('[LOG-5] %s is refused before it is stored', async (_, data) => {
    const device = testDevice(who)
    await device.push(server, [device.open()])
    const body = JSON.stringify({events: [{...device.post('x'), data: 'DATA'}]}).replace('"DATA"', data)
    const path = `/v1/sessions/${device.session}/events`
    const response = await server.app.request(path, {method: 'POST', headers: headersOf(who), body})
    expect((await response.json()).verdicts[0]).toMatchObject({status: 'rejected', error: {code: 'bad_input'}})
    expect(await logOf(server, who, device.session)).toHaveLength(1)
  })

  test('[LOG-5] a "__proto__" key in the envelope is refused and pollutes nothing', async () => {
    const device = testDevice(who)
    const body = JSON.stringify({events: [device.open()]}).replace('{"id"', '{"__proto__":{"admin":true},"id"')
    const path = `/v1/sessions/${device.session}/events`
    const response = await server.app.request(path, {method: 'POST', headers: headersOf(who), body})
    expect((await response.json()).verdicts[0]).toMatchObject({status: 'rejected', error: {code: 'bad_input'}})
    expect('admin' in {}).toBe(false)
  })
})
