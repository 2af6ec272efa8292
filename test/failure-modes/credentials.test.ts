import type {LanguageModelV3CallOptions} from '@ai-sdk/provider'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {defineTool} from '../../runtime/loop/define.ts'
import {defineAgent, gatewayModel, type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {systemEnvironment} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {LogLine} from '../../runtime/protocol/log-line.ts'
import type {Passport} from '../../runtime/protocol/passport.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'
import {defineOperation} from '../../sync-server/index.ts'
import {until} from '../support/crashable-device.ts'
import {desk, lookupOrder, openTestServer, refundOrder, saveNote, type TestServer} from '../support/desk.ts'
import {tablesWith} from '../support/scan-database.ts'

const someDevice = systemEnvironment.id('device')

// Put together here, so that no scanner takes this file for a leak.
const key = (name: string) => `sk-${name}-4f9aK2mQ8rT1vX7zB3nD`
const canaries = {
  gateway: key('gateway'),
  environment: key('environment'),
  fact: key('fact'),
  bank: key('bank'),
  reconcile: key('reconcile'),
  header: 'canary-header-51c0ffee',
  cookie: 'canary-cookie-51c0ffee',
  toolError: 'canaryToolError51c0ffee',
  toolThrown: key('thrown'),
  toolOutput: `ghp_${'c0ffee51'.repeat(5)}`,
  privateKey: 'MIIEcanaryPrivateKey51c0ffee',
}
const pem = `-----BEGIN PRIVATE KEY-----\n${canaries.privateKey}\n-----END PRIVATE KEY-----`
const proposed = key('proposed')

const ask = defineTool({...saveNote, name: 'askSupplier', effect: 'read'})
const agent = defineAgent({
  ...desk,
  name: 'desk',
  tools: [lookupOrder, saveNote, refundOrder, ask],
})

/** A provider as the gateway has it: with a key of its own, which it quotes whenever it fails. */
function keyedProvider(steps: ScriptedStep[]) {
  const refusal = () =>
    Object.assign(new Error(`Incorrect API key provided: ${canaries.gateway}`), {
      isRetryable: true,
      requestBodyValues: {authorization: `Bearer ${canaries.gateway}`},
      responseHeaders: {'set-cookie': canaries.gateway},
    })
  return scriptedModel(steps.map(step => (step.error === undefined ? step : {...step, error: refusal()})))
}

const failing: ScriptedStep = {error: 'replaced'}
const model = keyedProvider([
  {
    text: 'Let me see.',
    calls: [
      {tool: 'lookupOrder', input: {orderId: 'A17'}},
      {tool: 'saveNote', input: {text: 'x'}},
      {tool: 'askSupplier', input: {text: `Authorization: Bearer ${proposed}`}},
      {tool: 'refundOrder', input: {orderId: 'B22', cents: 100}},
    ],
  },
  failing,
  {text: 'That did not work.'},
  failing,
  failing,
  failing,
])

let shop: TestServer
let runtime: NodeRuntime
let session: Session
let token: string
let view: SessionView
const errors: HoldfastError[] = []
const seen: string[] = []
const lines: LogLine[] = []
const log = (line: LogLine) => void lines.push(line)

beforeAll(async () => {
  process.env.HOLDFAST_CANARY = canaries.environment
  shop = await openTestServer({
    log,
    models: {keyed: model},
    facts: {read: async () => ({value: {cents: 100, supplier: canaries.fact}, version: '1'})},
    operations: {
      refundOrder: defineOperation({
        tool: refundOrder,
        authorise: () => ({allow: `allowed for api_key=${canaries.bank}`}),
        recheck: () => ({ok: true}),
        execute: () => Promise.reject(new Error(`401 from the bank: Authorization: Bearer ${canaries.bank}`)),
        reconcile: async () => ({notExecuted: `the bank knows nothing of ${canaries.reconcile}`}),
      }),
    },
  })
  token = await shop.token('maya')
  const link = shop.linkWith(async () => token, {
    fetch: (input, init) => {
      const request = new Request(input as URL, init)
      request.headers.set('x-api-key', canaries.header)
      request.headers.set('cookie', `sid=${canaries.cookie}`)
      return Promise.resolve(shop.server.fetch(request))
    },
  })
  runtime = await openRuntime({
    agent,
    model: gatewayModel(),
    tools: {
      lookupOrder: async ({orderId}, {facts}) => {
        const reading = await facts.read(`order/${orderId}`)
        return {order: reading?.value ?? null, certificate: pem, sent: [{headers: {'X-Api-Key': 'plain'}}]}
      },
      saveNote: async (_, {sql}) => sql(`select 'password=${canaries.toolError}' from no_such_table`),
      askSupplier: ({text}) => {
        const answer = {code: 'ghp', body: canaries.toolOutput, secret: process.env.HOLDFAST_CANARY ?? null}
        if (answer.body === '') return answer
        throw new HoldfastError('tool_failed', `${text} and ${canaries.toolThrown} met ${JSON.stringify(answer)}`, {
          cause: new Error(canaries.toolThrown),
        })
      },
    },
    dataDir: 'memory://',
    sync: {link, token},
    retryDelayMs: 1,
    log,
  })
  session = await runtime.openSession({agent: 'desk'})
  session.subscribe(each => seen.push(JSON.stringify(each)))
  await session.send('Refund B22, please.')
  await until(session, each => each.status === 'completed' && each.pending === 0)
  await session.send('And again.')
  view = await until(session, each => each.status === 'failed_retryable' && each.pending === 0)
  await gatherErrors()
})
afterAll(async () => {
  delete process.env.HOLDFAST_CANARY
  await runtime.close()
  await shop.close()
})

/** Every refusal that a caller with good, odd and worn-out tokens can draw out. */
async function gatherErrors(): Promise<void> {
  const good = await shop.link('maya')
  const forged = shop.linkWith(async () => `${token}x`)
  const attempts = [
    forged.sessions(someDevice),
    shop.linkWith(async () => 'no token at all').sessions(someDevice),
    good.pull(`ses_${token}` as never, 0),
    good.streamModel('keyed', {prompt: []}),
    good.push(session.id, [{id: token, headers: {authorization: `Bearer ${token}`}} as never]),
  ]
  for (const outcome of await Promise.allSettled(attempts)) {
    if (outcome.status === 'fulfilled') seen.push(JSON.stringify(outcome.value))
    else errors.push(HoldfastError.from(outcome.reason))
  }
}

const everywhere = Object.entries(canaries)

describe('credentials', () => {
  test('[VIEW-5] the conversation went through every failure that could have told them', () => {
    model.done()
    const results = view.entries.flatMap(entry => (entry.type === 'tool' ? [[entry.tool, entry.result?.outcome]] : []))
    expect(results).toEqual([
      ['lookupOrder', 'ok'],
      ['saveNote', 'error'],
      ['askSupplier', 'error'],
      ['refundOrder', 'error'],
    ])
    expect(view.entries.at(-1)).toMatchObject({
      type: 'notice',
      text: 'The connection to the model broke off before the reply was complete.',
    })
    expect(errors.length).toBeGreaterThanOrEqual(4)
  })

  test('[VIEW-5] tokens, headers and gateway keys are in no table of device and server', async () => {
    const gone = [token, token.split('.')[2]!, canaries.header, canaries.cookie, canaries.gateway]
    for (const secret of gone) {
      expect(await tablesWith(runtime.db, secret)).toEqual([])
      expect(await tablesWith(shop.db, secret)).toEqual([])
    }
  })

  test('[VIEW-5] what a tool, an operation or a provider lets slip is in no table either', async () => {
    for (const [name, secret] of everywhere) {
      // The copy of a business fact is the application's own word, whole; no tool result carries it on.
      expect([name, await tablesWith(runtime.db, secret)]).toEqual([name, name === 'fact' ? ['holdfast_facts'] : []])
      expect([name, await tablesWith(shop.db, secret)]).toEqual([name, []])
    }
  })

  test('[VIEW-5] what the model itself proposed stays exact, and no result or error repeats it', async () => {
    const told = 'select kind from holdfast_events where position($1 in body) > 0'
    const {rows} = await runtime.db.query<{kind: string}>(told, [proposed])
    expect(rows.map(row => row.kind)).toEqual(['model.replied'])
  })

  test('[VIEW-5] no model payload holds any of them, nor a header or a handle of the connection', () => {
    const payloads = JSON.stringify(model.calls satisfies LanguageModelV3CallOptions[])
    for (const [name, secret] of [...everywhere, ['token', token]]) {
      expect([name, payloads.includes(secret!)]).toEqual([name, false])
    }
    for (const call of model.calls) expect(call.headers).toBeUndefined()
  })

  test('[VIEW-5] no log line of device or server holds any of them, though each tells what went wrong', () => {
    const told = JSON.stringify(lines)
    for (const [name, secret] of [...everywhere, ['proposed', proposed], ['token', token]]) {
      expect([name, told.includes(secret!)]).toEqual([name, false])
    }
    expect(lines.map(({event}) => event)).toEqual(
      expect.arrayContaining(['run.failed', 'operation.uncertain', 'operation.reconciled', 'request.refused']),
    )
  })

  test('[VIEW-5] no view, passport, error or its body holds any of them', async () => {
    const mine = await session.passport()
    const theirs = await passportOnServer(mine)
    const told = JSON.stringify([seen, mine, theirs, errors.map(error => [error.message, error.toBody()])])
    for (const [name, secret] of [...everywhere, ['token', token]]) {
      expect([name, told.includes(secret!)]).toEqual([name, false])
    }
  })
})

async function passportOnServer(passport: Passport | null): Promise<unknown> {
  const headers = {authorization: `Bearer ${token}`}
  const response = await shop.server.fetch(new Request(`http://desk.test/v1/runs/${passport?.run}/passport`, {headers}))
  expect(response.status).toBe(200)
  return await response.json()
}

test('[VIEW-5] a summary in which the model repeats one is stored without it; only the stream of its own words has them, for a day', async () => {
  const told = key('summary')
  const summarises = ({prompt}: LanguageModelV3CallOptions) => JSON.stringify(prompt[0]).includes('Summarise')
  const model = scriptedModel([
    {text: 'one '.repeat(400)},
    {text: 'two '.repeat(400)},
    {text: `They said api_key=${told}.`, expect: options => expect(summarises(options)).toBe(true)},
    {text: 'Three.'},
  ])
  const server = await openTestServer({models: {told: model}})
  const token = await server.token('maya')
  const sync = {link: await server.link('maya'), token}
  const brief = defineAgent({...agent, tools: [], budgets: {viewTokens: 2200}})
  const one = await openRuntime({agent: brief, model: gatewayModel(), tools: {}, dataDir: 'memory://', sync})
  const session = await one.openSession({agent: 'desk'})
  for (const text of ['One.', 'Two.', 'Three?']) {
    await session.send(`${text} ${'word '.repeat(350)}`)
    await until(session, each => each.settled && each.pending === 0)
  }
  model.done()
  const {rows} = await one.db.query<{body: string}>("select body from holdfast_events where kind = 'view.compacted'")
  expect(rows.map(({body}) => JSON.parse(body).data)).toMatchObject([
    {by: 'model', summary: 'They said api_key=[removed]'},
  ])
  expect(await tablesWith(one.db, told)).toEqual([])
  // What a model says is kept exactly, so that a lost connection is taken up again; its retention rule ends that. [RET-1]
  expect(await tablesWith(server.db, told)).toEqual(['hf_model_parts'])
  await one.close()
  await server.close()
})
