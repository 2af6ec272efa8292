import {erasureRequestSchema, purgedSchema} from '../../runtime/protocol/erasure.ts'
import {HoldfastError, parse} from '../../runtime/protocol/errors.ts'
import {erasureIdSchema} from '../../runtime/protocol/ids.ts'
import {type Eraser, erase} from '../authority/erase.ts'
import {type App, readBody} from './http.ts'

export function erasureRoutes(app: App, eraser: Eraser): void {
  const {store, environment} = eraser

  app.post('/v1/erasures', async c =>
    c.json(await erase(eraser, c.get('principal'), await readBody(c, erasureRequestSchema))),
  )

  app.post('/v1/erasures/purged', async c => {
    const {device, erasures} = await readBody(c, purgedSchema)
    await store.devices.purged(c.get('principal'), device, erasures, environment.now())
    return c.json({})
  })

  app.get('/v1/erasures/:id', async c => {
    const erasure = parse(erasureIdSchema, c.req.param('id'), 'erasure')
    const {tenant, subject, roles} = c.get('principal')
    const receipt = await store.erasures.receipt({tenant, erasure})
    const mine = receipt?.subject === subject || receipt?.requestedBy === subject || roles.includes(eraser.operatorRole)
    if (!receipt || !mine) throw new HoldfastError('not_found', 'No such erasure.')
    return c.json(receipt)
  })
}
