import {expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {Envelope} from '../../runtime/protocol/event.ts'
import type {EventId} from '../../runtime/protocol/ids.ts'
import {withoutInherited} from '../../runtime/protocol/inherited.ts'
import {serverEnvironment as env} from '../../sync-server/index.ts'
import {tablesWith} from '../support/scan-database.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers} from '../sync-server/support/desk-server.ts'
import {type TestDevice, testDevice} from '../sync-server/support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const who: Who = {tenant: 'acme', subject: 'ina'}
const words = 'inherited-and-to-be-gone'

/** A run up to its first reply, with what it notes down or sums up right after. */
function working(device: TestDevice, more: (run: TestDevice['held'], of: {run: never; step: never}) => Envelope[]) {
  const {events, run, step} = device.refund({orderId: 'A17', cents: 100})
  return [...events.slice(0, 2), ...more(device.held, {run, step} as never), ...events.slice(2, 3)]
}

test('[RET-2] a branch that stays loses the slots, title and summaries that it has of its erased source, and keeps its own', async () => {
  const source = testDevice(who)
  const said = source.post('Hello.')
  const patched = (device: TestDevice, patch: object) =>
    working(device, (held, {run, step}) => [device.event('slots.patched', {patch} as never, held(run, {step}))])
  const {verdicts} = await source.push(servers.server(), [source.open(), said, ...patched(source, {note: words})])
  expect(verdicts.map(({status}) => status)).toEqual(verdicts.map(() => 'accepted'))

  const branch = testDevice(who)
  const from = {session: source.session, seq: verdicts.length}
  const opening = branch.event('session.forked', {
    agent: 'desk',
    policy: 'steer',
    from,
    title: words,
    slots: {note: words},
  } as never)
  const compacted = branch.refund({orderId: 'A17', cents: 100})
  const sum = (summary: string, first: EventId, previous?: EventId) =>
    branch.event(
      'view.compacted',
      {from: first, to: first, summary, by: 'rules', tokens: 1, events: 1, ...(previous && {previous})},
      branch.held(compacted.run, {step: compacted.step}),
    )
  const own = branch.post('In the branch.')
  const inherited = sum(`They said ${words}.`, said.id)
  const answer = await branch.push(servers.server(), [
    opening,
    own,
    compacted.events[0],
    inherited,
    compacted.events[1],
    branch.event('slots.patched', {patch: {own: 'kept'}}, branch.held(compacted.run, {step: compacted.step})),
    ...compacted.events.slice(2, 3),
  ])
  expect(answer.verdicts.map(verdict => verdict.status)).toEqual(answer.verdicts.map(() => 'accepted'))
  expect((await tablesWith(database.db, words)).sort()).toEqual(['hf_events', 'hf_sessions'])

  const erased = await call<ErasureReceipt>(servers.server(), who, '/v1/erasures', {session: source.session})
  expect(erased.body.layers).toContainEqual({name: 'branches', removed: 0, kept: expect.stringContaining('1 keep')})
  expect(await tablesWith(database.db, words)).toEqual([])
  const [row] = (
    await database.db.query<{state: string}>('select state from hf_sessions where id = $1', [branch.session])
  ).rows
  expect(JSON.parse(row!.state)).toMatchObject({title: null, slots: {own: 'kept'}})
  // What branches off now inherits what the record says. [WRK-3]
  const twig = testDevice(who)
  const further = {session: branch.session, seq: answer.verdicts.length}
  const forked = twig.event('session.forked', {agent: 'desk', policy: 'steer', from: further, slots: {own: 'kept'}})
  expect((await twig.push(servers.server(), [forked])).verdicts).toMatchObject([{status: 'accepted'}])
})

test('[RET-2] a summary goes with what it sums up, or has taken in; one of the branch’s own words stays', () => {
  const id = () => env.id('event')
  const ids = {theirs: id(), own: id(), first: id(), second: id(), third: id()}
  const branch = testDevice(who)
  const summary = (at: EventId, from: EventId, previous?: EventId) => {
    const more = {by: 'rules' as const, tokens: 1, events: 1, ...(previous && {previous})}
    return branch.event('view.compacted', {from, to: from, summary: words, ...more}, {id: at})
  }
  const chain = [summary(ids.first, ids.theirs), summary(ids.second, ids.own, ids.first), summary(ids.third, ids.own)]
  const changed = withoutInherited(chain, new Set([ids.own, ids.first]))
  expect(changed.map(event => event.id)).toEqual([ids.first, ids.second])
  expect(JSON.stringify(changed)).not.toContain(words)
})
