import * as z from 'zod'
import {delegationSchema, newDelegationSchema} from '../../runtime/protocol/delegation.ts'
import {approverKeyIdSchema, delegationIdSchema, subjectIdSchema} from '../../runtime/protocol/ids.ts'
import {approverKeySchema, newKeySchema} from '../../runtime/protocol/intent.ts'
import {approverKeyListSchema, delegationListSchema} from '../../runtime/protocol/wire.ts'
import {listKeys, registerKey, revokeKey} from '../authority/approver-keys.ts'
import type {Authority} from '../authority/authority.ts'
import {delegateRole, revokeDelegation} from '../authority/delegations.ts'
import type {App} from './http.ts'
import {requireRole} from './require-role.ts'
import {handle, route} from './route.ts'

const listed = 500

const listDelegations = route({
  name: 'listDelegations',
  method: 'GET',
  path: '/v1/delegations',
  summary: 'The roles that the caller has lent or been lent; an operator may ask for those of another subject.',
  query: {subject: z.union([z.literal(''), subjectIdSchema]).default('')},
  answers: {200: delegationListSchema},
  errors: ['forbidden'],
})

const delegate = route({
  name: 'delegateRole',
  method: 'POST',
  path: '/v1/delegations',
  summary: 'Lends a role of the caller to somebody until a time.',
  body: newDelegationSchema,
  answers: {200: delegationSchema},
  errors: ['forbidden', 'refused'],
})

const endDelegation = route({
  name: 'revokeDelegation',
  method: 'POST',
  path: '/v1/delegations/:delegation/revocation',
  summary: 'Takes a role back that was lent; an operator may end any.',
  params: {delegation: delegationIdSchema},
  answers: {200: delegationSchema},
  errors: ['not_found'],
})

const listApproverKeys = route({
  name: 'listApproverKeys',
  method: 'GET',
  path: '/v1/approver-keys',
  summary: 'The keys of the caller that signed decisions are checked with.',
  answers: {200: approverKeyListSchema},
})

const addApproverKey = route({
  name: 'registerApproverKey',
  method: 'POST',
  path: '/v1/approver-keys',
  summary: 'Makes the public key of a device known as one of the caller.',
  body: newKeySchema,
  answers: {200: approverKeySchema},
  errors: ['refused'],
})

const endApproverKey = route({
  name: 'revokeApproverKey',
  method: 'POST',
  path: '/v1/approver-keys/:key/revocation',
  summary: 'Ends a key: what it signed is redeemed no more.',
  params: {key: approverKeyIdSchema},
  answers: {200: approverKeySchema},
  errors: ['not_found'],
})

/** Registers the routes for delegated roles and for the approver keys of devices. */
export function approverRoutes(app: App, authority: Authority, operatorRole: string): void {
  handle(app, listDelegations, async ({query: {subject}, principal}) => {
    const of = subject || principal.subject
    if (of !== principal.subject) requireRole(principal, operatorRole, 'see the delegations of another subject')
    return {delegations: await authority.store.delegations.list({tenant: principal.tenant, subject: of}, listed)}
  })
  handle(app, delegate, ({body, principal}) => delegateRole(authority, principal, body))
  handle(app, endDelegation, ({params: {delegation}, principal}) =>
    revokeDelegation(authority, principal, delegation, operatorRole),
  )

  handle(app, listApproverKeys, async ({principal}) => ({keys: await listKeys(authority, principal)}))
  handle(app, addApproverKey, ({body, principal}) => registerKey(authority, principal, body))
  handle(app, endApproverKey, ({params: {key}, principal}) => revokeKey(authority, principal, key))
}
