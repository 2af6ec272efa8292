import {meAnswerSchema} from '../../runtime/protocol/wire.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

const readMe = route({
  name: 'readMe',
  method: 'GET',
  path: '/v1/me',
  summary: 'Tenant and subject of the caller, whatever kind of token or cookie the request carries.',
  answers: {200: meAnswerSchema},
})

/** Registers the route by which a device learns whose records it may keep. Devices never parse a token. [ID-6] */
export function meRoutes(app: App): void {
  handle(app, readMe, ({principal: {tenant, subject}}) => ({tenant, subject}))
}
