import {expect, test} from 'vitest'
import {openRuntime} from '../../runtime/node.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk, deskTools, openTestServer} from '../support/desk.ts'

test('[RUN-4] a small refund is looked up, carried out once by the server, and explained', async () => {
  const shop = await openTestServer()
  const model = scriptedModel([
    {text: 'Let me look.', calls: [{tool: 'lookupOrder', input: {orderId: 'B22'}}]},
    {calls: [{tool: 'refundOrder', input: {orderId: 'B22', cents: 3200}}]},
    {text: 'Refunded 32.00.'},
  ])
  const runtime = await openRuntime({
    agent: desk,
    model,
    tools: deskTools,
    dataDir: 'memory://',
    sync: {link: await shop.link('maya'), token: await shop.token('maya')},
  })
  const session = await runtime.openSession({agent: 'desk'})
  await session.send('Order B22 arrived broken.')
  const view = await session.settled()
  expect(view.entries.map(entry => entry.type)).toEqual(['message', 'reply', 'tool', 'tool', 'reply'])
  expect(view.status).toBe('completed')
  expect(shop.payments).toHaveLength(1)
  model.done()
  await runtime.close()
  await shop.close()
})
