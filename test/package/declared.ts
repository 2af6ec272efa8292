/**
 * What an application exports without writing its types down. With `declaration: true` the compiler must be able to
 * name each inferred type through a public entry.
 */
import {PGlite} from '@electric-sql/pglite'
import {defineAgent, defineTool, openInbox, openRuntime} from 'holdfast'
import * as node from 'holdfast/node'
import {openPgStore, pgliteSql} from 'holdfast/server'
import {scriptedModel} from 'holdfast/testing'
import {agentHost, gatewayModel} from 'holdfast/worker'
import * as z from 'zod'

const input = z.object({orderId: z.string()})
export const lookupOrder = defineTool({name: 'lookupOrder', description: 'Read one order.', effect: 'read', input})
export const refundOrder = defineTool({
  name: 'refundOrder',
  description: 'Refund one order.',
  effect: 'external',
  input,
})
const tools = [lookupOrder, refundOrder] as const
export const desk = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Help.', tools})
export const host = agentHost(desk, {
  model: gatewayModel(),
  tools: {lookupOrder: ({orderId}, {facts}) => facts.read(`order/${orderId}`)},
})
export const runtime = openRuntime({worker: () => new Worker('agent.worker.js')})
export const inbox = openInbox({url: 'https://desk.example', token: async () => 'token'})
export const model = scriptedModel([])
export const openNode = () =>
  node.openRuntime({agent: desk, model: gatewayModel(), tools: {lookupOrder: async () => null}, dataDir: 'memory://'})
export const openStore = async () => openPgStore(pgliteSql(await PGlite.create()))
export const session = async () => (await runtime).openSession({agent: 'desk'})
export const view = async () => (await session()).settled()
export const passport = async () => (await session()).passport()
export const devices = async () => (await session()).devices()
export const branch = async () => (await session()).fork({after: 1})
export const remembered = async () => (await runtime).memory.recall({query: 'mug'})
export const delegations = async () => inbox.delegations()
export const exported = async () => {
  const found = await passport()
  return found && (await runtime).exportRun(found.run)
}
