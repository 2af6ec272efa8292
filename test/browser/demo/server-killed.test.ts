import type {Page} from 'playwright-core'
import {beforeAll, expect, test} from 'vitest'
import * as z from 'zod'
import {demoSite} from './support/demo-site.ts'
import {
  newConversation,
  transcript,
  untilBarSays,
  untilRefund,
  untilStreaming,
  untilSynced,
} from './support/desk-page.ts'
import {approve, untilAsked} from './support/inbox-page.ts'
import {paidTranscript, type Refund, refunds} from './support/refund.ts'
import {repliesFor} from './support/scripted-gateway.ts'
import type {Stage} from './support/server-proxy.ts'
import {expectSound, messagesIn} from './support/tables.ts'

const site = demoSite({model: 'scripted'})
const {next, asked} = refunds()
let desk: Page
let inbox: Page

beforeAll(async () => {
  desk = await site.openTab()
  inbox = await site.openTab('/inbox')
  await untilBarSays(desk, 'Connected')
})

async function restart(): Promise<void> {
  await site.endServer('SIGKILL')
  await site.startServer()
}

async function expectPaid(refund: Refund): Promise<void> {
  await untilBarSays(desk, 'Done')
  await untilSynced(desk)
  expect(await transcript(desk)).toEqual(paidTranscript(refund))
}

const isPush = (request: string) => /^POST \/v1\/sessions\/[^/]+\/events$/.test(request)

test.for<[string, Stage]>([
  ['with half of a push received', 'half'],
  ['with a push committed and its answer not sent', 'answer'],
])('[SYNC-4] the server is killed %s: nothing is lost and nothing is doubled', async ([, stage]) => {
  const refund = next()
  // Held through it all: what the agent does while the server is gone is another matter, and depends on the moment.
  const thinking = site.model.hold(({cents}) => cents === refund.cents, 'start')
  const pushing = site.proxy.hold(isPush, stage)
  await newConversation(desk, refund.text)
  await Promise.all([pushing.reached(1), thinking.reached(1)])
  await site.endServer('SIGKILL')
  pushing.open()
  await site.startServer()
  await thinking.reached(2)
  thinking.open()
  await approve(inbox, refund.orderId)
  await expectPaid(refund)
})

test('[APP-6] the server is killed while a refund waits for approval: it waits on, and is approved later', async () => {
  const refund = next()
  await newConversation(desk, refund.text)
  await untilBarSays(desk, 'Waiting for approval')
  await untilAsked(inbox, refund.orderId)
  await restart()
  await approve(inbox, refund.orderId)
  await expectPaid(refund)
})

test('[SYNC-4] the server is killed in the middle of a reply: the reply is asked for again and shown once', async () => {
  const refund = next()
  const held = site.model.hold(({cents, step}) => cents === refund.cents && step === 2, 'middle')
  await newConversation(desk, refund.text)
  await approve(inbox, refund.orderId)
  await untilStreaming(desk, repliesFor(refund.orderId)[2].slice(0, 10))
  await restart()
  await held.reached(2)
  held.open()
  await expectPaid(refund)
})

test.for<[string, number]>([
  ['as soon as the yes is on record', 1],
  ['as soon as the payment is on record as begun', 2],
])(
  '[OP-4] the server is killed %s: the refund is paid once or not at all, and the desk says which',
  async ([, events]) => {
    const refund = next()
    const heads = hearHeads()
    await newConversation(desk, refund.text)
    await untilBarSays(desk, 'Waiting for approval')
    await untilAsked(inbox, refund.orderId)
    await untilSynced(desk)
    const grown = heads.untilGrownBy(events)
    await approve(inbox, refund.orderId)
    await grown
    await site.startServer()
    await untilBarSays(desk, 'Done')
    await untilSynced(desk)
    const [shown] = (await transcript(desk)).filter(line => line.startsWith('Refund of '))
    const paid = shown?.endsWith(': Refunded') ?? false
    if (!paid) await untilRefund(desk, refund.orderId, 'Failed')
    outcomes.push({...refund, paid})
  },
)

const pokeSchema = z.object({type: z.literal('head'), head: z.number()})

/** The server says how far a session has grown as soon as that is committed; whatever was to come after it is cut off. */
function hearHeads() {
  let latest = 0
  let onHead = () => {}
  const stop = site.proxy.tap(
    request => request === 'GET /v1/live',
    chunk => {
      for (const [, data] of chunk.matchAll(/^data: (.*)$/gm)) {
        const poke = pokeSchema.safeParse(JSON.parse(data ?? ''))
        if (poke.success) latest = poke.data.head
      }
      onHead()
    },
  )
  return {
    untilGrownBy(events: number): Promise<void> {
      const wanted = latest + events
      return new Promise(resolve => {
        onHead = () => {
          if (latest < wanted) return
          stop()
          onHead = () => {}
          void site.endServer('SIGKILL').then(resolve)
        }
      })
    },
  }
}

const outcomes: (Refund & {paid: boolean})[] = []

test('[OP-3] in the tables each event, each result and each refund is there once', async () => {
  const tables = await site.tables()
  expectSound(tables)
  expect(messagesIn(tables).sort()).toEqual(
    asked.map(({orderId, cents}) => `Refund ${cents} cents of ${orderId}`).sort(),
  )
  const unpaid = new Set(outcomes.filter(({paid}) => !paid).map(({cents}) => cents))
  expect(tables.refunds).toMatchObject(asked.filter(({cents}) => !unpaid.has(cents)))
  expect(tables.operations.map(({status}) => status)).toEqual(
    asked.map(({cents}) => (unpaid.has(cents) ? 'failed' : 'executed')),
  )
})
