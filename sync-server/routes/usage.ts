import * as z from 'zod'
import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError, parse} from '../../runtime/protocol/errors.ts'
import type {UsageAnswer} from '../../runtime/protocol/usage.ts'
import {limitsFor, type TenantBudgets} from '../models/config.ts'
import type {Principal} from '../principal.ts'
import type {Store} from '../storage/store.ts'
import type {TaskTotals} from '../storage/task-book.ts'
import type {App} from './http.ts'

const monthMs = 30 * 24 * 3_600_000
const time = z.string().regex(/^\d{1,15}$/, 'expected milliseconds since 1970')
const scopeSchema = z.enum(['own', 'tenant'], 'expected "own" or "tenant"')

type UsageParts = {store: Store; budgets: TenantBudgets; environment: Environment; operatorRole: string}

/** What models took and what came of it: one's own, or all of the tenant for holders of the operator's role. */
export function usageRoutes(app: App, {store, budgets, environment, operatorRole}: UsageParts): void {
  app.get('/v1/usage', async c => {
    const principal = c.get('principal')
    const scope = parse(scopeSchema, c.req.query('scope') ?? 'own', 'scope')
    if (scope === 'tenant' && !principal.roles.includes(operatorRole)) {
      throw new HoldfastError('forbidden', `scope: only a holder of the role "${operatorRole}" sees the whole tenant.`)
    }
    const to = timeParam(c.req.query('to'), 'to') ?? environment.now() + 1
    const from = timeParam(c.req.query('from'), 'from') ?? Math.max(0, to - monthMs)
    const query = {tenant: principal.tenant, subject: scope === 'own' ? principal.subject : null, from, to}
    const models = await store.modelCalls.totals(query)
    const tasks = tasksAnswer(await store.tasks.totals(query))
    const limits = await limitsUsed(store, budgets, environment, principal)
    return c.json({scope, from, to, models, tasks, limits} satisfies UsageAnswer)
  })
}

function timeParam(text: string | undefined, name: string): number | null {
  return text === undefined ? null : Number(parse(time, text, name))
}

function tasksAnswer(totals: TaskTotals): UsageAnswer['tasks'] {
  const {completed, partial, failed, cancelled, failedOnce, metTrouble, recovered, latencyMs} = totals
  const each = (sum: number) => sum / completed
  return {
    completed,
    partial,
    failed,
    cancelled,
    failedOnce,
    metTrouble,
    recovered,
    latencyMs,
    perCompleted:
      completed === 0
        ? null
        : {
            steps: each(totals.steps),
            inputTokens: each(totals.inputTokens),
            outputTokens: each(totals.outputTokens),
            costMicros: each(totals.costMicros),
            durationMs: each(totals.durationMs),
          },
    recoveryRate: metTrouble === 0 ? null : recovered / metTrouble,
  }
}

/** A budget is the tenant's: everybody in it may see how much is left, whoever took the rest. */
async function limitsUsed(
  {modelCalls}: Store,
  budgets: TenantBudgets,
  environment: Environment,
  {tenant}: Principal,
): Promise<UsageAnswer['limits']> {
  const now = environment.now()
  const limits = await limitsFor(budgets, tenant)
  return Promise.all(
    limits.map(async limit => {
      const models = await modelCalls.totals({tenant, subject: null, from: now - limit.windowMs + 1, to: now + 1})
      const sum = (of: (model: (typeof models)[number]) => number) => models.reduce((total, one) => total + of(one), 0)
      return {
        ...limit,
        usedTokens: sum(one => one.inputTokens + one.outputTokens),
        usedCostMicros: sum(one => one.costMicros),
      }
    }),
  )
}
