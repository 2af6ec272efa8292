import type {CorrelationId} from '../../runtime/protocol/ids.ts'
import type {Budgets, Pin} from '../../runtime/protocol/pin.ts'
import type {Effect, PinnedTool} from '../../runtime/protocol/tool.ts'

/** A pinned tool whose hash is made up: equal for equal names and versions, and for no others. */
export function pinnedTool(name: string, effect: Effect, version = '1'): PinnedTool {
  const letters = [...`${name}@${version}`].map(letter => letter.charCodeAt(0).toString(16).padStart(2, '0')).join('')
  return {name, version, effect, hash: letters.padEnd(64, '0').slice(0, 64)}
}

/** A whole pin, so that a test names only what it is about. */
export function pinWith(over: Partial<Omit<Pin, 'budgets'>> & {budgets?: Partial<Budgets>} = {}): Pin {
  return {
    agent: 'desk',
    version: '1.0.0',
    tools: [pinnedTool('lookupOrder', 'read'), pinnedTool('saveNote', 'local'), pinnedTool('refundOrder', 'external')],
    toolsHash: 'b'.repeat(64),
    model: {label: 'holdfast-testing/scripted'},
    policy: {name: 'default', busy: 'steer', approval: {}},
    memory: {name: 'none', maxItems: 0},
    route: {rule: 'newest-build', table: 'default/1'},
    correlation: 'cor_01890000-0000-7000-8000-000000000000' as CorrelationId,
    ...over,
    budgets: {
      maxSteps: 3,
      maxToolCallsPerStep: 4,
      maxToolCalls: 20,
      maxTokens: 1_000_000,
      maxCost: null,
      wallMs: 3_600_000,
      viewTokens: 1000,
      modelCallMs: 1000,
      toolCallMs: 1000,
      onBound: 'partial',
      ...over.budgets,
    },
  }
}
