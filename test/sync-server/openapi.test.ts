import {Validator} from '@seriousme/openapi-schema-validator'
import {Hono} from 'hono'
import {describe, expect, test} from 'vitest'
import * as z from 'zod'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type App, type Env, errorAnswer} from '../../sync-server/routes/http.ts'
import {errorsOf, handle, type Route, route} from '../../sync-server/routes/route.ts'
import {underContract} from './support/contract.ts'
import {declared} from './support/declared.ts'

const {app, document, routes, askings} = declared

describe('the document', () => {
  test('is valid OpenAPI 3.1, with every reference in it', async () => {
    const validator = new Validator()
    const {valid, errors} = await validator.validate(structuredClone(document))
    expect([errors ?? [], valid, validator.version]).toEqual([[], true, '3.1'])
    const referred = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)]
    const lacking = referred.filter(([, part, name]) => !Object.hasOwn(Reflect.get(document.components, part!), name!))
    expect(lacking).toEqual([])
    expect(referred.length).toBe([...JSON.stringify(document).matchAll(/"\$ref":/g)].length)
  })

  test('tells every route that the server has, and no other', () => {
    const registered = app.routes.flatMap(({method, path}) => (method === 'ALL' ? [] : [`${method} ${path}`]))
    expect(registered).toEqual(routes.map(({method, path}) => `${method} ${path}`))
    const told = askings.map(({method, path}) => `${method} ${path}`)
    const plain = registered.map(name => name.replace('{.+}', '').replaceAll(/:(\w+)/g, '{$1}'))
    expect(told.sort()).toEqual(plain.sort())
    expect(new Set(routes.map(({name}) => name)).size).toBe(routes.length)
  })

  test.each(askings.map(asking => ({name: `${asking.method} ${asking.path}`, ...asking})))(
    '$name names its parameters, one sentence and every way it may end',
    ({path, operation}) => {
      const inPath = operation.parameters.flatMap(one => ('in' in one && one.in === 'path' ? [one.name] : []))
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
      expect(operation.summary).toMatch(/^[A-Z`].*\.$/)
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['200', '500']))
    },
  )

  test('is small, for what is shared is written once', () => {
    expect(JSON.stringify(document).length).toBeLessThan(160_000)
  })

  test('is served to whoever asks, without a token, and says nothing that depends on who does', async () => {
    const answer = await app.request('/v1/openapi.json')
    expect([answer.status, await answer.json()]).toEqual([200, JSON.parse(JSON.stringify(document))])
  })
})

describe('the contract that every answer in these tests is held to', () => {
  const thing = route({
    name: 'readThing',
    method: 'GET',
    path: '/v1/things/:thing',
    summary: 'A thing.',
    params: {thing: z.string().regex(/^\d+$/)},
    answers: {200: z.strictObject({thing: z.string()})},
    errors: ['not_found'],
  })
  const ask = async (answer: () => unknown, path = '/v1/things/1', as: Route = thing) => {
    const app: App = new Hono<Env>()
    handle(app, as, answer as never)
    app.onError((error, c) => errorAnswer(c, error))
    return underContract({app, fetch: app.fetch}).app.request(path)
  }
  const fail = (error: HoldfastError) => () => {
    throw error
  }

  test('lets an answer pass that is as declared', async () => {
    expect((await ask(() => ({thing: '1'}))).status).toBe(200)
    expect((await ask(fail(new HoldfastError('not_found', 'No such thing.')))).status).toBe(404)
    expect((await ask(() => ({}), '/v1/things/x')).status).toBe(400)
  })

  test.each<[string, () => unknown, string]>([
    ['a field of another type', () => ({thing: 1}), 'what it does not declare'],
    ['a field too many', () => ({thing: '1', secret: 'x'}), 'what it does not declare'],
    ['another media type', () => new Response('{"thing":"1"}'), 'expected application/json'],
    ['a code that is not declared', fail(new HoldfastError('conflict', 'No.')), 'does not declare'],
    ['bad input in vague words', fail(new HoldfastError('bad_input', 'Invalid input')), 'vague words'],
    ['an error in another shape', () => Response.json({message: 'No.'}, {status: 404}), 'what it does not declare'],
  ])('finds %s', async (_, answer, words) => {
    await expect(ask(answer)).rejects.toThrow(words)
  })

  test('finds an event of a stream that is not as declared', async () => {
    const data = z.strictObject({n: z.int()})
    const streaming = {...thing, answers: {200: {mediaType: 'text/event-stream', description: '', data}}}
    const stream = (body: string) => () => new Response(body, {headers: {'content-type': 'text/event-stream'}})
    await (await ask(stream('data: {"n":1}\n\n'), '/v1/things/1', streaming)).text()
    const wrong = await ask(stream('data: {"n":"1"}\n\n'), '/v1/things/1', streaming)
    await expect(wrong.text()).rejects.toThrow('what it does not declare')
  })
})

test('every route may end by the codes that its kind of request can meet', () => {
  const codes = (name: string) => errorsOf(routes.find(one => one.name === name) as Route)
  expect(codes('isAlive')).toEqual(['internal'])
  expect(codes('listAgents')).toEqual([
    'unauthenticated',
    'token_expired',
    'other_person',
    'rate_limited',
    'version_mismatch',
    'unavailable',
    'internal',
  ])
  expect(codes('claimCustody')).toEqual(expect.arrayContaining(['bad_input', 'too_large', 'stale_epoch', 'erased']))
})
