// Runs in a project that only has the packed package, on a Node that knows no TypeScript.
import {PGlite} from '@electric-sql/pglite'
import {defineAgent, defineTool} from 'holdfast'
import {openRuntime} from 'holdfast/node'
import {createSyncServer, defineOperation, issueToken, jwtAuth, openPgStore, pgliteSql} from 'holdfast/server'
import {serveNode} from 'holdfast/server/node'
import {scriptedModel} from 'holdfast/testing'
import * as z from 'zod'

const input = z.object({orderId: z.string()})
const lookupOrder = defineTool({name: 'lookupOrder', description: 'Read one order.', effect: 'read', input})
const refundOrder = defineTool({name: 'refundOrder', description: 'Refund one order.', effect: 'external', input})
const tools = [lookupOrder, refundOrder]
const desk = defineAgent({name: 'desk', version: '1.0.0', instructions: 'You work at a refund desk.', tools})

const jwt = {secret: 'a secret that only this program knows, long enough', issuer: 'shop', audience: 'desk'}
const db = await PGlite.create()
const paid = []
const server = createSyncServer({
  store: await openPgStore(pgliteSql(db)),
  authenticate: jwtAuth(jwt),
  facts: {read: async key => (key === 'order/A17' ? {value: {cents: 8900}, version: '1'} : null)},
  operations: {
    refundOrder: defineOperation({
      tool: refundOrder,
      authorise: () => ({allow: 'small'}),
      recheck: () => ({ok: true}),
      execute: async ({operation}) => ({receipt: `paid-${paid.push(operation)}`}),
      reconcile: async () => ({notExecuted: 'never paid'}),
    }),
  },
})
const host = await serveNode(server, {port: 0})

const model = scriptedModel([
  {calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}]},
  {calls: [{tool: 'refundOrder', input: {orderId: 'A17'}}]},
  {text: 'Refunded.'},
])
const runtime = await openRuntime({
  agent: desk,
  model,
  tools: {lookupOrder: ({orderId}, {facts}) => facts.read(`order/${orderId}`)},
  dataDir: 'memory://',
  sync: {url: host.url, token: await issueToken({...jwt, tenant: 'shop', subject: 'maya', roles: []})},
})
const session = await runtime.openSession({agent: 'desk'})
await session.send('Order A17 arrived broken.')
const {status, entries} = await session.settled()
model.done()
await runtime.close()
await host.close()
await db.close()
const {version} = process
console.log(JSON.stringify({version, status, entries: entries.map(({type}) => type), payments: paid.length}))
