import * as z from 'zod'
import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type UsageAnswer, usageAnswerSchema} from '../../runtime/protocol/usage.ts'
import {limitsFor, type TenantBudgets} from '../models/config.ts'
import type {Principal} from '../principal.ts'
import type {Store} from '../storage/store.ts'
import type {TaskTotals} from '../storage/task-book.ts'
import type {App} from './http.ts'
import {digits, handle, route} from './route.ts'

const monthMs = 30 * 24 * 3_600_000
const time = digits('milliseconds since 1970').transform(Number).optional()

const readUsage = route({
  name: 'readUsage',
  method: 'GET',
  path: '/v1/usage',
  summary: 'What models took and what came of it, within a time, and how much of its budget the tenant has used.',
  query: {
    scope: z.enum(['own', 'tenant'], 'expected "own" or "tenant"').default('own'),
    from: time,
    to: time,
  },
  answers: {200: usageAnswerSchema},
  errors: ['forbidden'],
})

type UsageParts = {store: Store; budgets: TenantBudgets; environment: Environment; operatorRole: string}

/** Registers the usage of models and the outcome of runs: the caller's own, or the whole tenant's for operators. */
export function usageRoutes(app: App, {store, budgets, environment, operatorRole}: UsageParts): void {
  handle(app, readUsage, async ({query: asked, principal}) => {
    const {scope} = asked
    if (scope === 'tenant' && !principal.roles.includes(operatorRole)) {
      throw new HoldfastError('forbidden', `scope: only a holder of the role "${operatorRole}" sees the whole tenant.`)
    }
    const to = asked.to ?? environment.now() + 1
    const from = asked.from ?? Math.max(0, to - monthMs)
    const query = {tenant: principal.tenant, subject: scope === 'own' ? principal.subject : null, from, to}
    const models = await store.modelCalls.totals(query)
    const tasks = tasksAnswer(await store.tasks.totals(query))
    const limits = await limitsUsed(store, budgets, environment, principal)
    return {scope, from, to, models, tasks, limits}
  })
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

/** Budgets belong to the tenant: every member may see what remains, regardless of who used the rest. */
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
