import * as z from 'zod'
import {definedAgent, servingShape} from './loop/check-definitions.ts'
import type {NodeRuntimeOptions} from './node.ts'
import {linkSchema, tokenSchema, urlSchema} from './page/check-runtime-options.ts'
import {checkOptions, dataDirSchema, environmentSchema, pauseMs} from './protocol/check-options.ts'
import {chosenSchema} from './protocol/field-faults.ts'

const linkedSync = z.strictObject({
  link: linkSchema,
  token: tokenSchema.optional(),
})
const urlSync = z.strictObject({url: urlSchema, token: tokenSchema})
const syncSchema = chosenSchema(sync => {
  return typeof sync === 'object' && sync !== null && 'link' in sync ? linkedSync : urlSync
})

const nodeOptions = z.strictObject({
  agent: definedAgent,
  ...servingShape,
  dataDir: dataDirSchema,
  sync: syncSchema.optional(),
  environment: environmentSchema.optional(),
  retryDelayMs: pauseMs.optional(),
} satisfies Record<keyof NodeRuntimeOptions, z.ZodType>)

const serveOptions = z.strictObject(servingShape)

/** @throws HoldfastError `misconfigured` with every invalid option */
export function checkNodeOptions(options: unknown): void {
  checkOptions(nodeOptions, options, 'openRuntime')
}

/** @throws HoldfastError `misconfigured` with every invalid option */
export function checkServeOptions(agent: unknown, options: unknown): void {
  checkOptions(definedAgent, agent, 'serveAgent: agent')
  checkOptions(serveOptions, options, 'serveAgent')
}
