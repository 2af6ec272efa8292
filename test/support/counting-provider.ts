import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {json} from 'node:stream/consumers'
import {createOpenAICompatible} from '@ai-sdk/openai-compatible'
import type {LanguageModelV3} from '@ai-sdk/provider'
import {createGate, type Gate} from './gate.ts'

export type ProviderCall = {
  /** Words sent before the call ended, each charged. */
  words: number
  ended: 'open' | 'finished' | 'aborted'
  headers: Record<string, unknown>
  body: {messages: {role: string; content: unknown}[]}
}

export type Refusal = {status: number; body?: object; headers?: Record<string, string>}
/** What one call does instead of answering: a refusal, or silence, or a broken connection after so many words. */
export type Misdeed = Refusal | 'silent' | {breakAfter: number} | {reply: object[]}

export interface CountingProvider {
  model: LanguageModelV3
  calls: ProviderCall[]
  /** The next calls, in order; then the words again. */
  misbehave(...misdeeds: Misdeed[]): void
  /** Holds every call from now on before its word number `at`. */
  hold(at: number): Gate
  /** Every word it has charged for. */
  charged(): number
  close(): Promise<void>
}

export const words = ['The ', 'order ', 'is ', 'on ', 'its ', 'way.']
export const promptTokens = 7

/** A provider that speaks the OpenAI protocol over HTTP and keeps the books: who asked, and what it charged for. */
export async function openCountingProvider(apiKey = 'provider-key'): Promise<CountingProvider> {
  const calls: ProviderCall[] = []
  const misdeeds: Misdeed[] = []
  let held: {at: number; gate: Gate} | null = null
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await json(request)) as ProviderCall['body']
    const call: ProviderCall = {words: 0, ended: 'open', headers: request.headers, body}
    calls.push(call)
    response.on('close', () => {
      if (call.ended === 'open') call.ended = 'aborted'
    })
    const misdeed = misdeeds.shift()
    if (misdeed === 'silent') return
    if (misdeed && 'status' in misdeed) return refuse(response, misdeed)
    response.writeHead(200, {'content-type': 'text/event-stream'})
    if (misdeed && 'reply' in misdeed) {
      for (const choice of misdeed.reply) response.write(line(choice))
    } else {
      for (const [i, word] of words.entries()) {
        if (held?.at === i) await held.gate.pass()
        if (misdeed?.breakAfter === i) return void response.destroy()
        if (call.ended !== 'open') return
        response.write(line({delta: {role: 'assistant', content: word}}))
        call.words += 1
      }
      response.write(line({delta: {}, finish_reason: 'stop'}))
    }
    response.write(line(null, {prompt_tokens: promptTokens, completion_tokens: words.length}))
    call.ended = 'finished'
    response.end('data: [DONE]\n\n')
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const provider = createOpenAICompatible({name: 'counting', baseURL, apiKey, includeUsage: true})
  return {
    model: provider.chatModel('counting-1'),
    calls,
    misbehave: (...next) => void misdeeds.push(...next),
    hold(at) {
      held = {at, gate: createGate()}
      return held.gate
    },
    charged: () => calls.reduce((sum, call) => sum + call.words, 0),
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function refuse(response: ServerResponse, {status, body = {error: {message: `refused ${status}`}}, headers}: Refusal) {
  response.writeHead(status, {'content-type': 'application/json', ...headers})
  response.end(JSON.stringify(body))
}

function line(choice: object | null, usage?: object): string {
  const chunk = {id: 'counting', object: 'chat.completion.chunk', created: 1, model: 'counting-1'}
  const choices = choice ? [{index: 0, finish_reason: null, ...choice}] : []
  return `data: ${JSON.stringify({...chunk, choices, ...(usage && {usage})})}\n\n`
}
