import type {LanguageModelV3Prompt, LanguageModelV3StreamPart, LanguageModelV3ToolResultPart} from '@ai-sdk/provider'
import {rulesModel} from '../../web-demo/rules-model.ts'
import type {Order} from '../../web-demo/shop/order.ts'

type Output = LanguageModelV3ToolResultPart['output']
export type ToolAnswer = (tool: string, input: Record<string, unknown>) => Output
export type Seen = {calls: [tool: string, input: Record<string, unknown>][]; said: string[]}

export const ok = (value: object): Output => ({type: 'json', value: JSON.parse(JSON.stringify(value))})
/** A denial carries its JSON as text, a superseded or aborted call carries its own one level down: as the loop writes them. */
export const denied = (value: object): Output => ({type: 'execution-denied', reason: JSON.stringify(value)})
export const superseded = failedUnder('superseded')
export const aborted = failedUnder('aborted')

function failedUnder(word: string): (reason: string) => Output {
  return reason => ({type: 'error-json', value: {[word]: {reason}}})
}

export const failed = (value: object): Output => ({type: 'error-json', value: JSON.parse(JSON.stringify(value))})

export const a17: Order = {
  id: 'A17',
  customer: {name: 'Lena Brandt', email: 'lena.brandt@example.net'},
  placedOn: '2026-11-14',
  status: 'delivered',
  note: 'Delivered on 20 November.',
  items: [
    {name: 'Enamel mug', quantity: 1, cents: 1_800},
    {name: 'Wool blanket', quantity: 1, cents: 2_800},
  ],
  totalCents: 4_600,
  refundedCents: 0,
  refundableCents: 4_600,
}
export const b22: Order = {
  ...a17,
  id: 'B22',
  totalCents: 12_900,
  refundableCents: 12_900,
  items: [{name: 'Trail tent', quantity: 1, cents: 12_900}],
}
export const c05: Order = {...a17, id: 'C05', refundedCents: 4_600, refundableCents: 0}

/** Orders as the server has them, refunds as it pays them; a scene overrides one answer to tell its story. */
export function shopWith(orders: Order[], over: Partial<Record<string, ToolAnswer>> = {}): ToolAnswer {
  return (tool, input) => {
    const special = over[tool]
    if (special) return special(tool, input)
    const order = orders.find(({id}) => id === input.orderId)
    if (tool === 'lookupOrder') {
      return ok(
        order
          ? {found: true, order, source: 'server', ageMs: 0, asOf: 'now, from the server'}
          : {found: false, orderId: input.orderId},
      )
    }
    if (tool === 'refundOrder')
      return ok({refund: 'R-1', orderId: input.orderId, cents: input.cents, remainingCents: 100})
    if (tool === 'draftReply' || tool === 'addToPlan') return ok({written: true})
    return ok({found: true, customer: input.customer, orders, source: 'server', ageMs: 0, asOf: 'now, from the server'})
  }
}

/** Plays the messages one after the other and answers every call, as the loop would; returns what the last one caused. */
export async function play(messages: string[], answer: ToolAnswer): Promise<Seen> {
  const prompt: LanguageModelV3Prompt = [{role: 'system', content: 'You help.'}]
  let seen: Seen = {calls: [], said: []}
  for (const text of messages) {
    prompt.push({role: 'user', content: [{type: 'text', text}]})
    seen = await finish(prompt, answer)
  }
  return seen
}

async function finish(prompt: LanguageModelV3Prompt, answer: ToolAnswer): Promise<Seen> {
  const seen: Seen = {calls: [], said: []}
  for (let step = 0; step < 12; step++) {
    const parts = await partsFor(prompt)
    const text = parts.map(part => (part.type === 'text-delta' ? part.delta : '')).join('')
    const calls = parts.filter(part => part.type === 'tool-call')
    if (text) seen.said.push(text)
    const inputs = calls.map(call => ({...call, input: JSON.parse(call.input) as Record<string, unknown>}))
    prompt.push({
      role: 'assistant',
      content: [
        {type: 'text', text},
        ...inputs.map(({toolCallId, toolName, input}) => ({type: 'tool-call' as const, toolCallId, toolName, input})),
      ],
    })
    if (calls.length === 0) return seen
    for (const {toolCallId, toolName, input} of inputs) {
      seen.calls.push([toolName, input])
      prompt.push({
        role: 'tool',
        content: [{type: 'tool-result', toolCallId, toolName, output: answer(toolName, input)}],
      })
    }
  }
  throw new Error(`still calling tools after 12 replies: ${JSON.stringify(seen)}`)
}

export async function partsFor(prompt: LanguageModelV3Prompt): Promise<LanguageModelV3StreamPart[]> {
  const {stream} = await rulesModel({delayMs: 0}).doStream({prompt})
  const parts: LanguageModelV3StreamPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}
