import type {Budgets, Pin} from './pin.ts'

const noHash = '0'.repeat(64)
/** Bounds that applied before pins recorded them. */
const budgets = {
  maxToolCalls: 10_000,
  maxTokens: 1_000_000_000,
  maxCost: null,
  wallMs: 86_400_000,
  onBound: 'partial',
} as const
const noCorrelation = 'cor_00000000-0000-7000-8000-000000000000'

type FirstPin = {
  agent: string
  version: string
  tools: (Omit<Pin['tools'][number], 'hash'> & {hash?: string})[]
  model: string | Pin['model']
  budgets: Partial<Budgets>
}

/**
 * Converts the pin of the first builds, which had no tool hashes, a string as the model, and no policy, memory, route
 * or correlation. Every other value passes unchanged, valid or not. [LOG-8]
 */
export function upcastPin(stored: unknown): unknown {
  if (!isFirstPin(stored)) return stored
  return {
    policy: {name: 'default', busy: 'steer', approval: {}},
    memory: {name: 'none', maxItems: 0},
    route: {rule: 'before-routes', table: '0'},
    correlation: noCorrelation,
    toolsHash: noHash,
    ...stored,
    tools: stored.tools.map(tool => ({hash: noHash, ...tool})),
    model: typeof stored.model === 'string' ? {label: stored.model} : stored.model,
    budgets: {...budgets, ...stored.budgets},
  }
}

/** Only the first builds stored the model as a string. */
function isFirstPin(value: unknown): value is FirstPin {
  if (typeof value !== 'object' || value === null) return false
  const {model, tools, route, budgets: bounds} = value as Record<string, unknown>
  return typeof model === 'string' && route === undefined && Array.isArray(tools) && typeof bounds === 'object'
}
