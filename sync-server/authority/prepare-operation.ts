import {badInput} from '../../runtime/protocol/errors.ts'
import type {DataOf} from '../../runtime/protocol/event.ts'
import {type Json, jsonSchema} from '../../runtime/protocol/json.ts'
import {redactText} from '../../runtime/protocol/redact-secrets.ts'
import {textStart} from '../../runtime/protocol/text.ts'
import {wellFormedJson} from '../../runtime/protocol/well-formed.ts'
import type {OperationDefinition, Operations} from '../define-operation.ts'
import type {LedgerRow} from '../storage/store.ts'
import {operationDigest} from './digest.ts'

export type RefusalCode = DataOf<'operation.refused'>['code']
export type Refused = {code: RefusalCode; reason: string}
export type Prepared = {definition: OperationDefinition; input: Json; digest: string}

/**
 * Finds the tool's definition and parses the input by its contract. Runs again before execution: a contract changed
 * by a deployment then shows as a different digest. [OP-2, OP-7]
 */
export async function prepareOperation(operations: Operations, row: LedgerRow): Promise<Prepared | Refused> {
  const definition = Object.hasOwn(operations, row.tool) ? operations[row.tool] : undefined
  if (!definition) return {code: 'unknown_tool', reason: `This server has no operation "${row.tool}".`}
  if (definition.tool.version !== row.version) {
    return {
      code: 'version_mismatch',
      reason: `"${row.tool}" is at version ${definition.tool.version} here, not ${row.version}.`,
    }
  }
  const parsed = await definition.tool.input.safeParseAsync(row.input)
  if (!parsed.success) return invalid(badInput('input', parsed.error, row.input))
  const input = jsonSchema.safeParse(parsed.data)
  if (!input.success) return invalid(badInput('input', input.error, parsed.data))
  if (wellFormedJson(input.data) !== input.data) {
    return {code: 'invalid_input', reason: 'input: expected well-formed text, got a lone surrogate.'}
  }
  return {definition, input: input.data, digest: await operationDigest(row, input.data)}
}

function invalid({message}: Error): Refused {
  return {code: 'invalid_input', reason: clip(message)}
}

/**
 * Removes text that looks like a credential from an external reason and truncates it to the limit of an event.
 * [VIEW-5]
 */
export function clip(reason: string, length = 1000): string {
  const text = redactText(reason)
  return text.length <= length ? text : `${textStart(text, length - 1)}…`
}
