import {expect, test} from 'vitest'
import {routesOf} from '../../sync-server/routes/route.ts'
import {headersOf} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers} from './support/desk-server.ts'

const servers = deskServers(testDatabase())
const headers = headersOf({tenant: 'methods', subject: 'ana'})

test('a known path with another method is answered with 405 and the methods that it takes', async () => {
  const {app} = servers.server()
  const paths = new Map<string, Set<string>>()
  for (const {method, path} of routesOf(app)) paths.set(path, (paths.get(path) ?? new Set()).add(method))
  for (const [path, methods] of paths) {
    const answer = await app.request(path.replaceAll(/:[a-z]+/gi, 'x'), {method: 'DELETE', headers})
    const allow = (answer.headers.get('allow') ?? '').split(', ').filter(method => method !== 'HEAD')
    // A path may also match the parameter of another route.
    expect([path, answer.status, allow]).toEqual([path, 405, expect.arrayContaining([...methods])])
    expect((await answer.json()).error).toMatchObject({code: 'bad_input', message: expect.stringMatching(/^method: /)})
  }
})

test.for(['/v1/nowhere', '/v1', '/v1/sessions/x/y/z', '/healthz/x'])(
  'a path of no route is answered with 404: %s',
  async path => {
    const answer = await servers.server().app.request(path, {method: 'DELETE', headers})
    expect([answer.status, answer.headers.get('allow')]).toEqual([404, null])
  },
)
