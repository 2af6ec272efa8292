import type {Json, ToolEntry} from '../runtime-types.ts'
import {draftOutputSchema, findOutputSchema, lookupOutputSchema} from '../tool-outputs.ts'
import {exactText} from './exact.ts'

/** One line about a read or local call, in the words of somebody who was there. */
export function tellTool({tool, input, result}: ToolEntry): string {
  const of = (name: string): string => exactText(field(input, name)) || '?'
  switch (tool) {
    case 'lookupOrder':
      return result ? lookedUp(of('orderId'), result) : `Looking up order ${of('orderId')}`
    case 'findOrders':
      return result ? found(of('customer'), result) : `Looking for orders of ${of('customer')}`
    case 'draftReply':
      return result ? drafted(input, result) : 'Writing the reply'
    case 'addToPlan':
      return result ? planned(result) : 'Adding to the plan'
    default:
      return result ? `Used ${exactText(tool)}` : `Using ${exactText(tool)}`
  }
}

function lookedUp(order: string, {outcome, output}: NonNullable<ToolEntry['result']>): string {
  const parsed = lookupOutputSchema.safeParse(output)
  if (outcome !== 'ok' || !parsed.success) return `Could not look up order ${order}`
  if ('unavailable' in parsed.data) return `Order ${order} cannot be seen offline`
  if (!parsed.data.found) return `There is no order ${order}`
  return `Looked up order ${order}${fromCopy(parsed.data)}`
}

function found(customer: string, {outcome, output}: NonNullable<ToolEntry['result']>): string {
  const parsed = findOutputSchema.safeParse(output)
  if (outcome !== 'ok' || !parsed.success) return `Could not look for orders of ${customer}`
  if ('unavailable' in parsed.data) return `The orders of ${customer} cannot be seen offline`
  if (!parsed.data.found) return `Found no orders of ${customer}`
  const n = parsed.data.orders.length
  return `Found ${n} order${n === 1 ? '' : 's'} of ${customer}${fromCopy(parsed.data)}`
}

function fromCopy({source, asOf}: {source: 'server' | 'replica'; asOf: string}): string {
  return source === 'replica' ? `, ${asOf}` : ''
}

function drafted(input: Json, {outcome, output}: NonNullable<ToolEntry['result']>): string {
  const parsed = draftOutputSchema.safeParse(output)
  if (outcome !== 'ok' || !parsed.success || !parsed.data.written) return 'Left the draft as it is'
  return field(input, 'instead') ? 'Changed a passage of the draft' : 'Wrote the reply into the draft'
}

function planned({outcome, output}: NonNullable<ToolEntry['result']>): string {
  const parsed = draftOutputSchema.safeParse(output)
  return outcome === 'ok' && parsed.success && parsed.data.written
    ? 'Added a step to the plan'
    : 'Left the plan as it is'
}

function field(input: Json, name: string): string {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return ''
  const value = input[name]
  return typeof value === 'string' ? value : ''
}
