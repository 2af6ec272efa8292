import {expect, test} from 'vitest'
import type {SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import type {DueChange, DueRef} from '../../sync-server/storage/due-work.ts'
import type {Store} from '../../sync-server/storage/store.ts'
import {sealedBatch, storyOf} from './store-story.ts'

/** What every store keeps of work that is due; part of the store contract. */
export function dueWorkContract(store: () => Store): void {
  let tenants = 0
  const at = 1_900_000_000_000
  const leaseMs = 1000

  /** Writes changes as they are always written: with an append. */
  async function due(...changes: Omit<DueChange, 'tenant'>[]): Promise<DueRef[]> {
    const tenant = `due-${++tenants}` as TenantId
    const subject = 'ana' as SubjectId
    const session = env.id('session')
    await store().sessions.locked({tenant, session, subject, create: subject}, async locked => {
      const batch = await sealedBatch(locked.state, storyOf(session).opened())
      const commit = {state: batch.state, at, due: changes.map(change => ({tenant, ...change}))}
      await locked.append(batch.sealed, commit)
    })
    return changes.map(({name, key}) => ({tenant, name, key}))
  }
  const claim = async (now: number, own: DueRef[]) =>
    (await store().due.claim({now, leaseMs, limit: 1000})).filter(({tenant}) => tenant === own[0]?.tenant)

  test('[OP-3] what is due is claimed once, earliest first, and not again until its lease has run out', async () => {
    const own = await due(
      {name: 'expire', key: 'late', dueAt: at + 20},
      {name: 'operation', key: 'early', dueAt: at + 10, body: 'x'},
      {name: 'webhook', key: 'never', dueAt: at + 9_000_000},
    )
    expect(await claim(at + 9, own)).toEqual([])
    const both = await Promise.all([claim(at + 20, own), claim(at + 20, own)])
    expect(both.flat().map(({key, attempts, body}) => [key, attempts, body])).toEqual([
      ['early', 1, 'x'],
      ['late', 1, ''],
    ])
    expect(await claim(at + 1019, own)).toEqual([])
    expect((await claim(at + 1020, own)).map(({key, attempts}) => [key, attempts])).toEqual([
      ['early', 2],
      ['late', 2],
    ])
  })

  test('[OP-3] one piece is claimed before its time, by one; whoever lost the lease changes nothing', async () => {
    const [ref] = await due({name: 'operation', key: 'one', dueAt: at + 10})
    const item = await store().due.claimOne(ref!, {now: at, leaseMs})
    expect(item).toMatchObject({key: 'one', attempts: 1})
    expect(await store().due.claimOne(ref!, {now: at, leaseMs})).toBeNull()
    const taken = await store().due.claimOne(ref!, {now: at + 1000, leaseMs})
    await store().due.finish(item!)
    await store().due.postpone(item!, at)
    expect(await store().due.claimOne(ref!, {now: at + 1000, leaseMs})).toBeNull()
    await store().due.postpone(taken!, at + 5000)
    expect(await claim(at + 4999, [ref!])).toEqual([])
    const [again] = await claim(at + 5000, [ref!])
    expect(again?.attempts).toBe(3)
    await store().due.finish(again!)
    expect(await store().due.claimOne(ref!, {now: at + 99_999, leaseMs})).toBeNull()
  })

  test('[OP-4] a process that is the only one takes over what was leased or put off, and leaves the rest to its time', async () => {
    const own = await due(
      {name: 'operation', key: 'leased', dueAt: at + 9_000},
      {name: 'operation', key: 'put off', dueAt: at + 10},
      {name: 'expire', key: 'in time', dueAt: at + 9_000},
    )
    await store().due.claimOne(own[0]!, {now: at, leaseMs: 1_000_000})
    await store().due.postpone((await store().due.claimOne(own[1]!, {now: at, leaseMs}))!, at + 8_000)
    await store().due.takeOver(at + 20)
    expect((await claim(at + 20, own)).map(({key}) => key).sort()).toEqual(['leased', 'put off'])
  })
}
