import {erasureReceiptSchema, erasureRequestSchema, purgedSchema} from '../../runtime/protocol/erasure.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {erasureIdSchema} from '../../runtime/protocol/ids.ts'
import {type Eraser, erase} from '../authority/erase.ts'
import {withFilesReason} from '../erased-files.ts'
import type {App} from './http.ts'
import {handle, nothingSchema, route} from './route.ts'

const eraseAll = route({
  name: 'erase',
  method: 'POST',
  path: '/v1/erasures',
  summary: 'Erases a session or a subject everywhere, and says what is still outstanding.',
  body: erasureRequestSchema,
  answers: {200: erasureReceiptSchema},
  errors: ['not_found', 'forbidden'],
})

const reportPurged = route({
  name: 'reportPurged',
  method: 'POST',
  path: '/v1/erasures/purged',
  summary: 'A device says that it has purged its copies.',
  body: purgedSchema,
  answers: {200: nothingSchema},
})

const readErasure = route({
  name: 'readErasure',
  method: 'GET',
  path: '/v1/erasures/:erasure',
  summary: 'The receipt of an erasure as it stands now.',
  params: {erasure: erasureIdSchema},
  answers: {200: erasureReceiptSchema},
  errors: ['not_found'],
})

export function erasureRoutes(app: App, eraser: Eraser): void {
  const {store, environment} = eraser

  handle(app, eraseAll, ({body, principal}) => erase(eraser, principal, body))

  handle(app, reportPurged, async ({body: {device, erasures}, principal}) => {
    await store.devices.purged(principal, device, erasures, environment.now())
    return {}
  })

  handle(app, readErasure, async ({params: {erasure}, principal: {tenant, subject, roles}}) => {
    const stored = await store.erasures.receipt({tenant, erasure})
    const receipt = stored && withFilesReason(stored, eraser.files)
    const mine = receipt?.subject === subject || receipt?.requestedBy === subject || roles.includes(eraser.operatorRole)
    if (!receipt || !mine) throw new HoldfastError('not_found', 'No such erasure.')
    return receipt
  })
}
