import * as z from 'zod'
import {
  checkOptions,
  environmentSchema,
  filledText,
  functionSchema,
  havingMethods,
  positiveMs,
  valueThat,
} from '../protocol/check-options.ts'
import {urlFault} from '../protocol/server-url.ts'
import {databaseNameSchema} from './database-name.ts'
import type {InboxOptions} from './open-inbox.ts'
import type {RuntimeOptions} from './open-runtime.ts'

export const urlSchema = z.custom(value => urlFault(value) === null, {
  error: ({input}) => `expected ${urlFault(input) ?? 'another address'}`,
})

export const tokenSchema = valueThat(
  'a token or a function that returns one',
  value => typeof value === 'string' || typeof value === 'function',
)

const runtimeOptions = z.strictObject({
  worker: functionSchema,
  name: databaseNameSchema.optional(),
  sync: z.strictObject({url: urlSchema, token: tokenSchema.optional()}).optional(),
  build: filledText.optional(),
  deadlineMs: positiveMs.optional(),
} satisfies Record<keyof RuntimeOptions, z.ZodType>)

/** @throws HoldfastError `misconfigured` naming every wrong option */
export function checkRuntimeOptions(options: unknown): void {
  checkOptions(runtimeOptions, options, 'openRuntime')
}

export const linkSchema = havingMethods('a link of httpLink', ['setOnline'])

const inboxOptions = z.strictObject({
  url: urlSchema,
  token: tokenSchema.optional(),
  offline: z
    .strictObject({
      name: filledText,
      label: z.string().optional(),
      memory: z.custom(value => typeof value === 'object' && value !== null, 'expected an inbox memory').optional(),
    })
    .optional(),
  environment: environmentSchema.optional(),
  link: linkSchema.optional(),
} satisfies Record<keyof InboxOptions, z.ZodType>)

/** @throws HoldfastError `misconfigured` naming every wrong option */
export function checkInboxOptions(options: unknown): void {
  checkOptions(inboxOptions, options, 'openInbox')
}
