import {expect, test} from 'vitest'
import {demoSite} from './support/demo-site.ts'
import {
  killWorker,
  newConversation,
  say,
  transcript,
  untilBarSays,
  untilRefund,
  untilReply,
  untilRole,
  untilSynced,
} from './support/desk-page.ts'
import {approve, untilAsked} from './support/inbox-page.ts'
import {expectSound} from './support/tables.ts'

const site = demoSite({model: 'rules'})

test('[RUN-4] a late yes to a refund that a newer instruction has withdrawn is refused, and no money moves', async () => {
  const desk = await site.openTab()
  await untilRole(desk, 'leader')
  await newConversation(desk, 'Order B22 arrived damaged, refund it.')
  await untilBarSays(desk, 'Waiting for approval')

  const inbox = await site.openTab('/inbox')
  await untilAsked(inbox, 'B22')
  // Theo looked away: his page hears no more of what happens until he has answered.
  const news = site.proxy.hold(request => request === 'GET /v1/approvals')

  const second = await site.openTab(`/${new URL(desk.url()).search}`)
  await untilBarSays(second, 'Waiting for approval')
  await say(second, 'Please do not refund it, I only want to know where it is.')
  await killWorker(desk)
  await untilRefund(second, 'B22', 'Withdrawn')
  await untilSynced(second)

  await approve(inbox, 'B22')
  const refusal = inbox.getByRole('alert')
  await refusal.waitFor()
  expect(await refusal.textContent()).toMatch(/approval is voided.*nothing was changed.*newer instruction/i)
  news.open()
  await inbox.getByText('Withdrawn').waitFor()

  for (const page of [second, desk]) {
    await untilBarSays(page, 'Done')
    await untilReply(page, 'so no money moved')
  }
  const shown = await transcript(second)
  expect(await transcript(desk)).toEqual(shown)
  expect(shown.filter(line => line.startsWith('Maya: '))).toHaveLength(2)
  expect(shown.filter(line => line.startsWith('Refund of '))).toEqual(['Refund of €213.50 for order B22: Withdrawn'])

  const tables = await site.tables()
  expectSound(tables)
  expect(tables.refunds).toEqual([])
  expect(tables.operations).toMatchObject([{status: 'voided', orderId: 'B22'}])
  expect(tables.approvals).toMatchObject([{status: 'voided', decidedBy: null}])
  // The page registers its approver's key when it first opens; of decisions there is the refused one alone.
  expect(tables.audit.map(({action}) => action)).toEqual(['key.registered', 'approval.decision_refused'])
  expect(tables.events.filter(({kind}) => kind === 'run.started')).toHaveLength(1)
})
