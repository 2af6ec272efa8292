import {HoldfastError, parse} from '../../runtime/protocol/errors.ts'
import {factSchema} from '../../runtime/protocol/fact.ts'
import {factKeySchema} from '../../runtime/protocol/tool.ts'
import {withDeadline} from '../authority/deadline.ts'
import type {FactSource} from '../facts.ts'
import type {App} from './http.ts'

const factDeadlineMs = 10_000

export function factRoutes(app: App, facts: FactSource): void {
  app.get('/v1/facts/:key{.+}', async c => {
    const key = parse(factKeySchema, c.req.param('key'), 'key')
    const {tenant, subject} = c.get('principal')
    const fact = await withDeadline('The fact source', factDeadlineMs, () => facts.read(key, {tenant, subject}))
    if (!fact) throw new HoldfastError('not_found', 'No such fact.')
    const answer = factSchema.safeParse({key, value: fact.value, version: fact.version})
    if (!answer.success) throw new HoldfastError('internal', `The fact source answered "${key}" with no valid fact.`)
    return c.json(answer.data)
  })
}
