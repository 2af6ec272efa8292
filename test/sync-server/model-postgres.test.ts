import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import {createSyncServer, openPgStore, type Store} from '../../sync-server/index.ts'
import {type OpenedPostgres, openPostgres} from '../../sync-server/postgres.ts'
import {type CountingProvider, openCountingProvider, promptTokens, words} from '../support/counting-provider.ts'
import {realPostgres} from '../support/real-postgres.ts'
import {headersOf, trustingAuth, type Who} from './support/caller.ts'
import {underContract} from './support/contract.ts'
import {readStream} from './support/read-stream.ts'

const postgres = realPostgres()
let provider: CountingProvider
let other: OpenedPostgres
let stores: [Store, Store]
beforeAll(async () => {
  provider = await openCountingProvider()
  other = await openPostgres({url: postgres().url})
  stores = [await openPgStore(postgres().sql), await openPgStore(other.sql)]
})
afterAll(async () => {
  await other?.close()
  await provider?.close()
})

const prompt = [{role: 'user', content: [{type: 'text', text: 'Hi'}]}]

/** Two processes: each with its own connections, and nothing in common but the database. */
function processes(tokens?: number) {
  return stores.map(store =>
    underContract(
      createSyncServer({
        store,
        authenticate: trustingAuth,
        facts: {read: async () => null},
        operations: {},
        models: {desk: {model: provider.model, prices: {inputPerMTok: 2, outputPerMTok: 10}}},
        budgets: tokens === undefined ? [] : [{windowMs: 3_600_000, tokens}],
        limits: {models: {pollMs: 20}},
      }),
    ),
  )
}

type Served = ReturnType<typeof processes>[number]
const post = (served: Served, who: Who, call?: object) =>
  served.app.request('/v1/models/desk/stream', {
    method: 'POST',
    headers: headersOf(who),
    body: JSON.stringify({prompt, ...(call && {call})}),
  })

describe('the model gateway on Postgres', () => {
  test('[CUS-5] processes that race on one key read the same words, and one of them asks', async () => {
    const who = {tenant: 'pg', subject: 'ana'}
    const [a, b] = processes()
    for (let round = 1; round <= 8; round++) {
      const call = {session: env.id('session'), run: env.id('run'), step: env.id('step'), attempt: 1, try: 1}
      const answers = await Promise.all(
        [a!, b!, a!, b!].map(async one => readStream(await post(one, who, call)).rest()),
      )
      for (const answer of answers) expect(answer).toEqual(answers[0])
      expect(provider.calls).toHaveLength(round)
    }
    const query = {tenant: 'pg' as never, subject: null, from: 0, to: Number.MAX_SAFE_INTEGER}
    expect(await stores[1].modelCalls.totals(query)).toEqual([
      {
        model: 'desk',
        calls: 8,
        estimated: 0,
        inputTokens: 8 * promptTokens,
        outputTokens: 8 * words.length,
        costMicros: 8 * (2 * promptTokens + 10 * words.length),
      },
    ])
    expect((await stores[0].tasks.totals(query)).completed).toBe(0)
  })

  test('[BUD-1] calls side by side in two processes cannot pass the budget of their tenant', async () => {
    const who = {tenant: 'pg-budget', subject: 'ana'}
    const [a, b] = processes(60)
    const before = provider.calls.length
    const gate = provider.hold(0)
    const pending = [a!, b!, a!, b!, a!, b!, a!, b!].map(one => post(one, who))
    await gate.reached(1)
    gate.open()
    const answers = await Promise.all(pending)
    const letIn = answers.filter(({status}) => status === 200)
    expect(answers.filter(({status}) => status === 429)).toHaveLength(8 - letIn.length)
    expect([letIn.length > 0, letIn.length < 8]).toEqual([true, true])
    for (const answer of letIn) await readStream(answer).rest()
    expect(provider.calls.length - before).toBe(letIn.length)
  })
})
