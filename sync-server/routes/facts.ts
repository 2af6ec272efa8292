import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {
  type FactAnswer,
  type FactsRequest,
  factSchema,
  factsAnswerSchema,
  factsRequestSchema,
} from '../../runtime/protocol/fact.ts'
import {factKeySchema} from '../../runtime/protocol/tool.ts'
import {withDeadline} from '../authority/deadline.ts'
import {type FactContext, type FactSource, type FactValue, readFacts} from '../facts.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

const factDeadlineMs = 10_000

const readOne = route({
  name: 'readFact',
  method: 'GET',
  path: '/v1/facts/:key{.+}',
  summary: 'A business fact and its version.',
  params: {key: factKeySchema},
  answers: {200: factSchema},
  errors: ['not_found', 'deadline'],
})

const readSeveral = route({
  name: 'readFacts',
  method: 'POST',
  path: '/v1/facts',
  summary: 'Several facts at once, in the order asked; what is as the caller knows it is not sent again.',
  body: factsRequestSchema,
  answers: {200: factsAnswerSchema},
  errors: ['deadline'],
})

/** Registers the read-only routes of facts. Only an operation changes what a fact describes. [FACT-1] */
export function factRoutes(app: App, facts: FactSource): void {
  handle(app, readOne, async ({params: {key}, principal: {tenant, subject}}) => {
    const fact = await withDeadline('The fact source', factDeadlineMs, () => facts.read(key, {tenant, subject}))
    if (!fact) throw new HoldfastError('not_found', 'No such fact.')
    return valid(key, fact)
  })

  handle(app, readSeveral, async ({body: request, principal: {tenant, subject}}) => {
    const answers = await withDeadline('The fact source', factDeadlineMs, () =>
      answerFacts(facts, request, {tenant, subject}),
    )
    return {facts: answers}
  })
}

async function answerFacts(facts: FactSource, {keys, known = {}}: FactsRequest, context: FactContext) {
  const unchanged = new Set<string>()
  if (facts.version) {
    const asked = keys.filter(key => Object.hasOwn(known, key))
    const versions = await Promise.all(asked.map(key => facts.version?.(key, context)))
    for (const [i, key] of asked.entries()) if (versions[i] === known[key]) unchanged.add(key)
  }
  const fresh = [...new Set(keys)].filter(key => !unchanged.has(key))
  const values = new Map((await readFacts(facts, fresh, context)).map((fact, i) => [fresh[i], fact]))
  return keys.map((key): FactAnswer => {
    const version = Object.hasOwn(known, key) ? known[key] : undefined
    if (version !== undefined && unchanged.has(key)) return {key, unchanged: version}
    const fact = values.get(key)
    if (!fact) return {key, missing: true}
    return fact.version === version ? {key, unchanged: version} : valid(key, fact)
  })
}

/** An invalid fact is an error of the fact source, not of the caller. */
function valid(key: string, {value, version}: FactValue) {
  const answer = factSchema.safeParse({key, value, version})
  if (!answer.success) throw new HoldfastError('internal', `The fact source answered "${key}" with no valid fact.`)
  return answer.data
}
