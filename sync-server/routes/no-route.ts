import type {NotFoundHandler} from 'hono'
import {TrieRouter} from 'hono/router/trie-router'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type App, type Env, errorAnswer} from './http.ts'
import {routesOf} from './route.ts'

/**
 * Handles a request that matches no route: 405 with `Allow` if the path has routes of other methods, 404 otherwise.
 * The methods come from the declared routes.
 */
export function noRoute(app: App): NotFoundHandler<Env> {
  const methods = new TrieRouter<string>()
  for (const {method, path} of routesOf(app)) methods.add('ALL', path, method)
  return c => {
    const allowed = [...new Set(methods.match('ALL', c.req.path)[0].map(([method]) => method))].sort()
    if (allowed.length === 0) return errorAnswer(c, new HoldfastError('not_found', 'No such route.'))
    // Hono serves HEAD by the GET route.
    if (allowed.includes('GET')) allowed.push('HEAD')
    const expected = `expected ${allowed.join(' or ')}`
    const details = {what: 'method', issues: [{field: '', expected}]}
    const error = new HoldfastError('bad_input', `method: ${expected}`, {details})
    return c.json({error: error.toBody()}, 405, {allow: allowed.join(', ')})
  }
}
