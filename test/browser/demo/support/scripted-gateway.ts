import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {json} from 'node:stream/consumers'
import * as z from 'zod'
import {closeServer} from '../../../support/fault-proxy.ts'
import {createGate, type Gate} from '../../../support/gate.ts'

/** One call as the script sees it: the order that it is about, and how many tool results there are by now. */
export type ModelCall = {order: string; cents: number; step: number}

export interface ScriptedGateway {
  url: string
  /** Every call that came in, held or not. */
  calls: ModelCall[]
  /** Holds calls before they are answered, or in the middle of their text. */
  hold(match: (call: ModelCall) => boolean, at: 'start' | 'middle'): Gate
  /** Whole replies by what was asked, besides the refunds. */
  readonly replies: Map<string, string>
  /** Of the refunds that are proposed from now on. */
  reason: string
  close(): Promise<void>
}

const requestSchema = z.object({
  messages: z.array(z.object({role: z.string(), content: z.unknown()})),
})

/**
 * A model for tests, behind the protocol that real ones speak: asked to "refund 6000 cents of B22" it looks the order
 * up, proposes the refund and says a last sentence. It answers from the prompt alone, so asking twice is harmless.
 */
export async function openScriptedGateway(): Promise<ScriptedGateway> {
  const calls: ModelCall[] = []
  const held: {match: (call: ModelCall) => boolean; at: 'start' | 'middle'; gate: Gate}[] = []
  const pass = async (call: ModelCall, at: 'start' | 'middle') => {
    for (const one of held) if (one.at === at && one.match(call)) await one.gate.pass()
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const {messages} = requestSchema.parse(await json(request))
    const said = replyIn(messages, gateway.replies)
    if (said !== undefined) {
      response.writeHead(200, {'content-type': 'text/event-stream'})
      response.write(line({delta: {role: 'assistant', content: said}}))
      response.write(line({delta: {}, finish_reason: 'stop'}))
      response.end('data: [DONE]\n\n')
      return
    }
    const call = callIn(messages)
    calls.push(call)
    await pass(call, 'start')
    response.writeHead(200, {'content-type': 'text/event-stream'})
    const [first, ...rest] = partsOf(call, gateway.reason)
    response.write(line(first))
    await pass(call, 'middle')
    for (const part of rest) response.write(line(part))
    response.end('data: [DONE]\n\n')
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => {
      if (!response.headersSent) response.writeHead(400, {'content-type': 'application/json'})
      response.end(JSON.stringify({error: {message: error.message}}))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const gateway: ScriptedGateway = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    hold(match, at) {
      const gate = createGate()
      held.push({match, at, gate})
      return gate
    },
    replies: new Map(),
    reason: 'Arrived broken',
    close: () => closeServer(server),
  }
  return gateway
}

function replyIn(
  messages: {role: string; content: unknown}[],
  replies: ReadonlyMap<string, string>,
): string | undefined {
  const asked = JSON.stringify(messages.findLast(message => message.role === 'user')?.content)
  return [...replies].find(([key]) => asked.includes(key))?.[1]
}

/** What the person reads when everything has gone well, in the order of the conversation. */
export function repliesFor(order: string): [string, string, string] {
  return [
    `Let me look at ${order}.`,
    `I propose the refund for ${order}.`,
    `That is all there is to say about ${order}.`,
  ]
}

function callIn(messages: {role: string; content: unknown}[]): ModelCall {
  const asked = messages.findLastIndex(message => message.role === 'user')
  const [, cents, order] = /(\d+) cents of (\w+)/.exec(JSON.stringify(messages[asked]?.content)) ?? []
  if (!cents || !order) throw new Error('The script knows only "Refund 6000 cents of B22".')
  return {order, cents: Number(cents), step: messages.slice(asked).filter(message => message.role === 'tool').length}
}

function partsOf({order, cents, step}: ModelCall, reason: string): object[] {
  const reply = repliesFor(order)[step] ?? ''
  const half = Math.floor(reply.length / 2)
  const said = [{delta: {role: 'assistant', content: reply.slice(0, half)}}, {delta: {content: reply.slice(half)}}]
  if (step === 0) return [...said, ...calling('lookupOrder', {orderId: order})]
  if (step === 1) return [...said, ...calling('refundOrder', {orderId: order, cents, reason})]
  return [...said, {delta: {}, finish_reason: 'stop'}]
}

function calling(name: string, input: object): object[] {
  const call = {index: 0, id: `call-${name}`, type: 'function', function: {name, arguments: JSON.stringify(input)}}
  return [{delta: {tool_calls: [call]}}, {delta: {}, finish_reason: 'tool_calls'}]
}

function line(choice: object | undefined): string {
  const chunk = {id: 'scripted', object: 'chat.completion.chunk', created: 1, model: 'scripted'}
  return `data: ${JSON.stringify({...chunk, choices: [{index: 0, finish_reason: null, ...choice}]})}\n\n`
}
