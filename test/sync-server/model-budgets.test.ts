import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest'
import {createSyncServer, type SyncServerOptions, type TenantBudgets} from '../../sync-server/index.ts'
import {type CountingProvider, openCountingProvider, promptTokens, words} from '../support/counting-provider.ts'
import {headersOf, trustingAuth, type Who} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {testDatabase} from './support/database.ts'
import {movableClock} from './support/environment.ts'
import {readStream} from './support/read-stream.ts'

const database = testDatabase()
let provider: CountingProvider
beforeAll(async () => {
  provider = await openCountingProvider()
})
beforeEach(() => {
  provider.calls.length = 0
  provider.hold(-1)
})
afterAll(() => provider.close())

let tenants = 0
const hour = 3_600_000
const used = promptTokens + words.length
/** Room for one call as it is estimated before, and not for another after what the provider counted. */
const bound = 25
const prompt = [{role: 'user', content: [{type: 'text', text: 'Hi'}]}]

function desk(budgets: TenantBudgets, options: Partial<SyncServerOptions> = {}) {
  const who: Who = {tenant: `budget-${++tenants}`, subject: 'ana'}
  const environment = movableClock()
  const server = () =>
    underContract(
      createSyncServer({
        store: database.store,
        authenticate: trustingAuth,
        facts: {read: async () => null},
        operations: {},
        models: {desk: {model: provider.model, prices: {inputPerMTok: 2, outputPerMTok: 10}}},
        environment,
        budgets,
        ...options,
      }),
    )
  const post = (by: Who = who, served = server()) =>
    served.app.request('/v1/models/desk/stream', {
      method: 'POST',
      headers: headersOf(by),
      body: JSON.stringify({prompt}),
    })
  const ask = async (by?: Who) => readStream(await post(by)).rest()
  return {who, environment, post, ask}
}

describe('a tenant with a budget', () => {
  const bounds: [string, TenantBudgets][] = [
    ['tokens', [{windowMs: hour, tokens: bound}]],
    ['cost', [{windowMs: hour, cost: 0.000_1}]],
    ['its own bounds', tenant => (tenant.startsWith('budget') ? [{windowMs: hour, tokens: bound}] : [])],
  ]
  test.each(bounds)('[BUD-1] that has used up its %s is refused before anything is paid', async (_, budgets) => {
    const {who, environment, ask, post} = desk(budgets)
    await ask()
    const refused = await post()
    const {error} = await refused.json()
    expect([refused.status, error.code]).toEqual([429, 'budget_exhausted'])
    expect(error.details).toMatchObject({windowMs: hour, usedTokens: used, usedCostMicros: 2 * promptTokens + 60})
    expect(error.details.retryAfterMs).toBeLessThanOrEqual(hour)
    expect(provider.calls).toHaveLength(1)
    expect(await ask({...who, tenant: `${who.tenant}-other`})).not.toHaveLength(0)
    environment.advance(error.details.retryAfterMs + 1)
    expect((await post()).status).toBe(200)
  })

  test('[BUD-1] has one budget for all its subjects', async () => {
    const {who, ask, post} = desk([{windowMs: hour, tokens: bound}])
    await ask()
    expect((await post({...who, subject: 'ben'})).status).toBe(429)
  })

  test('[BUD-1] cannot pass it with calls side by side, in two processes', async () => {
    const {post} = desk([{windowMs: hour, tokens: 60}])
    const gate = provider.hold(0)
    const pending = Array.from({length: 6}, () => post())
    await gate.reached(1)
    gate.open()
    const answers = await Promise.all(pending)
    const let200 = answers.filter(({status}) => status === 200)
    expect(let200.length).toBeGreaterThan(0)
    expect(let200.length).toBeLessThan(6)
    expect(provider.calls).toHaveLength(let200.length)
    for (const answer of let200) await readStream(answer).rest()
  })

  test.each<[string, Partial<SyncServerOptions>, string]>([
    [
      'a negative price',
      {models: {x: {model: null as never, prices: {inputPerMTok: -1, outputPerMTok: 0}}}},
      'models.x',
    ],
    ['a budget without a bound', {budgets: [{windowMs: 1}]}, 'budgets.0'],
    ['a budget without a window', {budgets: [{windowMs: 0, tokens: 1}]}, 'budgets.0.windowMs'],
  ])('%s is refused by name when the server is made', (_, options, field) => {
    const base = {store: database.store, authenticate: trustingAuth, facts: {read: async () => null}, operations: {}}
    expect(() => createSyncServer({...base, ...options})).toThrow(field)
  })
})
