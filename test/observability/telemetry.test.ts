import {SpanKind} from '@opentelemetry/api'
import type {ReadableSpan} from '@opentelemetry/sdk-trace-base'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {gatewayModel, type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import {openCountingProvider} from '../support/counting-provider.ts'
import {until} from '../support/crashable-device.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../support/desk.ts'
import {recordTelemetry, runFields} from '../support/telemetry.ts'

const canary = {message: 'canary-message', title: 'canary-title', note: 'canary-note', reply: 'canary-reply'}
const provider = await openCountingProvider('canary-provider-key')
const telemetry = recordTelemetry()
let shop: TestServer
let runtime: NodeRuntime
let token: string
let spans: ReadableSpan[]

const calling = (name: string, input: object, index: number) => ({
  delta: {
    tool_calls: [{index, id: `call-${name}`, type: 'function', function: {name, arguments: JSON.stringify(input)}}],
  },
})

beforeAll(async () => {
  shop = await openTestServer({models: {small: provider.model}})
  token = await shop.token('canary-subject')
  const send: typeof fetch = (input, init) => Promise.resolve(shop.server.fetch(new Request(input as URL, init)))
  runtime = await openRuntime({
    agent: desk,
    model: gatewayModel(),
    tools: deskTools as never,
    dataDir: 'memory://',
    sync: {link: shop.linkWith(async () => token, {fetch: send}), token},
    retryDelayMs: 1,
  })
  provider.misbehave(
    {
      reply: [
        calling('lookupOrder', {orderId: 'A17'}, 0),
        calling('saveNote', {text: canary.note}, 1),
        calling('refundOrder', {orderId: 'B22', cents: 100}, 2),
        {delta: {}, finish_reason: 'tool_calls'},
      ],
    },
    {reply: [{delta: {content: canary.reply}}, {delta: {}, finish_reason: 'stop'}]},
    {status: 400, body: {error: {message: 'canary-provider-words'}}},
  )
  const session = await runtime.openSession({agent: 'desk', title: canary.title})
  await session.send(canary.message)
  await until(session, view => view.status === 'completed' && view.pending === 0)
  await session.send(canary.message)
  await until(session, view => view.status === 'failed_final' && view.pending === 0)
  await runtime.close()
  await shop.server.idle()
  spans = telemetry.spans()
})
afterAll(async () => {
  await shop.close()
  await provider.close()
  await telemetry.stop()
})

const named = (name: string, kind?: SpanKind) =>
  spans.filter(span => span.name === name && (kind === undefined || span.kind === kind))

describe('telemetry of a run', () => {
  test.each([
    ['holdfast.step call-model'],
    ['holdfast.step run-tools'],
    ['holdfast.step record-results'],
    ['chat small'],
    ['execute_tool lookupOrder'],
    ['execute_tool refundOrder'],
  ])('[OBS-1] a span "%s" says whose it is, which run, where it stands and what is pinned', name => {
    expect(named(name).length).toBeGreaterThan(0)
    // On the server a first call can be ahead of the log: it then carries what the device named.
    const full = named(name).filter(span => runFields.every(field => span.attributes[field] !== undefined))
    expect(full.length).toBeGreaterThan(0)
    for (const span of named(name)) {
      expect(span.attributes).toMatchObject({'holdfast.tenant': 'shop', 'holdfast.run_id': expect.any(String)})
    }
  })

  test('[OBS-1] model calls carry the GenAI names, on the device and on the server', () => {
    const calls = named('chat small')
    expect(calls).toHaveLength(6)
    const [first] = calls
    expect(first?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'small',
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 6,
      'gen_ai.response.finish_reasons': ['tool-calls'],
    })
    const failed = calls.filter(span => span.attributes['error.type'] !== undefined)
    expect(failed).toHaveLength(2)
  })

  test('[OBS-1] the trace goes from the step over the wire to the provider', () => {
    const [call] = named('holdfast.step call-model')
    const trace = spans.filter(span => span.spanContext().traceId === call?.spanContext().traceId)
    const chain = ['holdfast.step call-model', 'chat small', 'POST /v1/models/{name}/stream'] as const
    for (const name of chain) expect(trace.map(span => span.name)).toContain(name)
    expect(trace.map(span => span.name)).toContain('POST /v1/models/:name/stream')
    expect(trace.filter(span => span.name === 'chat small')).toHaveLength(2)
  })

  test('[OBS-1] requests and transactions are told too', () => {
    expect(named('POST /v1/sessions/:session/events', SpanKind.SERVER).length).toBeGreaterThan(0)
    expect(named('POST /v1/sessions/{id}/events', SpanKind.CLIENT).length).toBeGreaterThan(0)
    expect(named('holdfast.session').some(span => span.attributes['holdfast.run_id'] !== undefined)).toBe(true)
  })

  test('[OBS-3] tokens, durations, runs and operations are counted', async () => {
    const metrics = await telemetry.metrics()
    const names = metrics.map(({descriptor}) => descriptor.name)
    for (const name of [
      'gen_ai.client.token.usage',
      'gen_ai.client.operation.duration',
      'http.server.request.duration',
      'holdfast.events',
      'holdfast.runs.ended',
      'holdfast.operations',
      'holdfast.operation.duration',
      'holdfast.step.duration',
    ]) {
      expect(names).toContain(name)
    }
    const ended = metrics.find(({descriptor}) => descriptor.name === 'holdfast.runs.ended')
    expect(ended?.dataPoints.map(({attributes}) => attributes.outcome).sort()).toEqual(['failed_final', 'finished'])
  })

  test('[VIEW-5] nothing that anybody wrote, and no credential, is in any span or metric', async () => {
    const told = JSON.stringify([
      spans.map(({name, attributes, events, status, links}) => [name, attributes, events, status, links]),
      await telemetry.metrics(),
    ])
    expect(spans.length).toBeGreaterThan(20)
    const secrets = [...Object.values(canary), token, 'canary-provider-key', 'canary-provider-words', 'A17', 'B22']
    for (const secret of secrets) expect([secret, told.includes(secret)]).toEqual([secret, false])
    expect(JSON.stringify(provider.calls.map(call => call.body))).toContain(canary.message)
  })
})
