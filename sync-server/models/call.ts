import * as z from 'zod'
import {modelCallSchema} from '../../runtime/protocol/model-call.ts'
import {nameSchema} from '../../runtime/protocol/text.ts'
import type {CallOptions} from './language-model.ts'

/** Name of a gateway model, as configured by the host. */
export const modelNameSchema = nameSchema(200)

const isArray = (value: unknown): value is unknown[] => Array.isArray(value)

/** Files are refused: they are bytes, which JSON cannot represent, or a URL that this server would have to fetch. */
function holdsFile(value: unknown): boolean {
  return (
    isArray(value) &&
    value.some(part => typeof part === 'object' && part !== null && 'type' in part && part.type === 'file')
  )
}

const messageSchema = z
  .looseObject({
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    content: z.union([z.string(), z.array(z.looseObject({type: z.string()}))]),
  })
  .refine(message => !holdsFile(message.content), 'expected no file parts; the gateway takes text and tools only')

/**
 * The call options of the provider specification that a device may send, as JSON. Headers are dropped, because they
 * could replace those with the server's key. Unknown fields are dropped too. `call` is the idempotency key; without
 * it every request is a new call.
 */
export const callOptionsSchema = z
  .object({
    call: modelCallSchema.optional(),
    prompt: z.array(messageSchema).min(1).max(5000),
    maxOutputTokens: z.int().positive().optional(),
    temperature: z.number().optional(),
    stopSequences: z.array(z.string()).optional(),
    topP: z.number().optional(),
    topK: z.number().optional(),
    presencePenalty: z.number().optional(),
    frequencyPenalty: z.number().optional(),
    responseFormat: z.looseObject({type: z.enum(['text', 'json'])}).optional(),
    seed: z.int().optional(),
    tools: z.array(z.looseObject({type: z.enum(['function', 'provider']), name: z.string()})).optional(),
    reasoning: z.enum(['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
    toolChoice: z.looseObject({type: z.enum(['auto', 'none', 'required', 'tool'])}).optional(),
    providerOptions: z.record(z.string(), z.record(z.string(), z.json())).optional(),
  })
  // The schema covers what a device can get wrong. The provider validates the rest of a part.
  .transform(({call, ...options}) => ({
    call: call ?? null,
    options: options as unknown as CallOptions,
  }))
