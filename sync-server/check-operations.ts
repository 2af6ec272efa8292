import {HoldfastError} from '../runtime/protocol/errors.ts'
import type {OperationDefinition, Operations} from './define-operation.ts'

/** @throws HoldfastError `misconfigured` naming the operation and what cannot work about it */
export function checkOperations(operations: Operations): void {
  for (const [name, definition] of Object.entries(operations)) {
    const fault = faultOf(name, definition)
    if (fault) throw new HoldfastError('misconfigured', `operations.${name}: ${fault}`)
  }
}

function faultOf(name: string, definition: OperationDefinition): string | null {
  const {tool, limits = [], amount, reconcile, verdictRole} = definition
  if (tool.name !== name) return `expected a tool of this name, got "${tool.name}".`
  if (tool.effect !== 'external') return `expected effect "external", got "${tool.effect}".`
  // Without either, an outcome that is once unknown would stay so for ever.
  if (!reconcile && !verdictRole) return 'expected a reconcile or a verdictRole.'
  for (const limit of limits) {
    const {kind, per: _, ...numbers} = {per: undefined, ...limit}
    const bad = Object.entries(numbers).find(([, value]) => !Number.isFinite(value) || value <= 0)
    if (bad) return `limits: expected a number above zero as ${bad[0]} of "${kind}", got ${bad[1]}.`
    if ((kind === 'amount' || kind === 'single') && !amount) return `limits: "${kind}" needs a function amount.`
  }
  return null
}
