import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import type {LockedSession, SealedEvent, SessionKey, Store} from '../../sync-server/storage/store.ts'
import {deviceSeqKey} from '../../sync-server/storage/store.ts'
import {blobContract} from './blobs.ts'
import {dueWorkContract} from './due-work.ts'
import {sealedBatch, storyOf} from './store-story.ts'

export type OpenedStore = {store: Store; close(): Promise<void>}

/**
 * What every store must keep, whatever it is built on.
 *
 * @example
 * storeContract('Postgres', async () => ({store: await openPgStore(sql), close: () => pool.end()}))
 */
export function storeContract(name: string, open: () => Promise<OpenedStore>): void {
  describe(`store contract: ${name}`, () => {
    let opened: OpenedStore
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(() => opened?.close())

    let tenants = 0
    const newKey = (): SessionKey & {subject: SubjectId} => {
      const subject = 'ana' as SubjectId
      return {tenant: `contract-${++tenants}` as TenantId, session: env.id('session'), subject, create: subject}
    }
    const at = 1_800_000_000_000
    const locked = <T>(key: SessionKey, work: (session: LockedSession) => Promise<T>) =>
      opened.store.sessions.locked(key, work)
    const write = (key: SessionKey, sealed: (state: LockedSession['state']) => ReturnType<typeof sealedBatch>) =>
      locked(key, async session => {
        const batch = await sealed(session.state)
        await session.append(batch.sealed, {state: batch.state, at})
        return batch.sealed
      })
    const opening = (key: SessionKey, posts = 0) =>
      write(key, state => sealedBatch(state, storyOf(key.session).opened(posts)))

    test('[LOG-2] what was appended is read back whole and in order, with the state as of it', async () => {
      const key = newKey()
      const written = await opening(key, 3)
      const page = await opened.store.sessions.page(key, key.session, 0)
      expect(page?.head).toBe(4)
      expect(page?.events).toEqual(written?.value.map(({event}) => event))
      expect((await opened.store.sessions.page(key, key.session, 3))?.events.map(event => event.seq)).toEqual([4])
      expect(await opened.store.sessions.state(key, key.session)).toMatchObject({session: key.session, head: 4})
    })

    test('[SYNC-4] work that throws leaves nothing behind, whatever it had appended', async () => {
      const key = newKey()
      const failing = locked(key, async session => {
        const batch = await sealedBatch(session.state, storyOf(key.session).opened(1))
        await session.append(batch.sealed, {state: batch.state, at})
        throw new Error('crash')
      })
      await expect(failing).rejects.toThrow('crash')
      expect(await opened.store.sessions.page(key, key.session, 0)).toBeNull()
    })

    test('a session that was made and never written to is not kept', async () => {
      const key = newKey()
      expect(await locked(key, async () => 'nothing')).toEqual({value: 'nothing'})
      expect(await opened.store.sessions.state(key, key.session)).toBeNull()
    })

    test('[ID-4] another subject, another tenant and an unknown id find the same nothing', async () => {
      const key = newKey()
      await opening(key)
      const strangers: SessionKey[] = [
        {...key, subject: 'eve' as SubjectId},
        {tenant: 'else' as TenantId, session: key.session, subject: key.subject},
        {...key, session: env.id('session'), subject: key.subject},
      ].map(({create: _, ...stranger}: SessionKey) => stranger)
      for (const stranger of strangers) {
        const owner = {tenant: stranger.tenant, subject: stranger.subject as SubjectId}
        expect(await locked(stranger, async () => 'found')).toBeNull()
        expect(await opened.store.sessions.page(owner, stranger.session, 0)).toBeNull()
        expect(await opened.store.sessions.state(owner, stranger.session)).toBeNull()
      }
    })

    test('[LOG-2] many writers at once wait for each other and leave no gap', async () => {
      const key = newKey()
      await opening(key)
      const story = storyOf(key.session)
      await Promise.all(Array.from({length: 12}, () => write(key, state => sealedBatch(state, [story.post()]))))
      const page = await opened.store.sessions.page(key, key.session, 0)
      expect(page?.events.map(event => event.seq)).toEqual(Array.from({length: 13}, (_, index) => index + 1))
    })

    test('[LOG-3] identities that are taken are known, across the sessions of a tenant and not beyond it', async () => {
      const key = newKey()
      const story = storyOf(key.session)
      const events = [...story.opened(), ...story.refund()]
      const written = (await write(key, state => sealedBatch(state, events)))?.value ?? []
      const sibling = {...newKey(), tenant: key.tenant}
      const seen = async (by: SessionKey) => (await locked(by, session => session.known(events)))?.value
      const first = written[0] as SealedEvent
      const mine = await seen(key)
      expect(mine?.events.get(first.event.id)).toEqual({session: key.session, seq: 1, hash: first.hash})
      expect(mine?.deviceSeqs.get(deviceSeqKey(first.event.device, first.event.deviceSeq))).toBe(first.event.id)
      expect([mine?.runs.size, mine?.operations.size]).toEqual([1, 1])
      const siblings = await seen(sibling)
      expect([siblings?.events.size, siblings?.deviceSeqs.size, siblings?.operations.size]).toEqual([
        events.length,
        0,
        1,
      ])
      const foreign = await seen(newKey())
      expect([foreign?.events.size, foreign?.runs.size, foreign?.operations.size]).toEqual([0, 0, 0])
    })

    test('[RUN-6] the head of another session shows only to the same subject', async () => {
      const source = newKey()
      await opening(source, 2)
      const headFrom = async (key: SessionKey, session: SessionId) =>
        (await locked(key, async found => ({head: await found.headOf(session)})))?.value.head
      expect(await headFrom({...newKey(), tenant: source.tenant}, source.session)).toBe(3)
      const eve = 'eve' as SubjectId
      expect(await headFrom({...newKey(), tenant: source.tenant, subject: eve, create: eve}, source.session)).toBeNull()
      expect(await headFrom(newKey(), source.session)).toBeNull()
    })

    test('[OP-3] ledger and approvals say what the last event about an operation says', async () => {
      const key = newKey()
      const story = storyOf(key.session)
      await write(key, state => sealedBatch(state, [...story.opened(), ...story.refund()]))
      const ref = {tenant: key.tenant, operation: story.operation}
      const row = () => opened.store.ledger.operation(ref)
      expect(await row()).toMatchObject({status: 'proposed', input: {cents: 5}, requestedBy: key.subject, digest: null})

      await write(key, state => sealedBatch(state, [story.requested(at + 10)]))
      expect(await row()).toMatchObject({status: 'awaiting_approval', digest: story.digest})
      const inbox = (status: 'open' | 'all', roles = ['lead']) =>
        opened.store.approvals.inbox(key.tenant, roles, status, 10)
      expect(await inbox('open')).toMatchObject([{approval: story.approval, status: 'open', run: story.run}])
      expect(await inbox('open', ['clerk'])).toEqual([])
      expect(await inbox('open', [])).toEqual([])
      expect(await opened.store.approvals.of(ref)).toMatchObject({approval: story.approval, approvers: 1})

      await write(key, state => sealedBatch(state, [story.voided()]))
      expect(await row()).toMatchObject({status: 'voided', outcome: {reason: 'Changed.'}})
      expect(await inbox('open')).toEqual([])
      expect(await inbox('all')).toMatchObject([{status: 'voided', note: 'Changed.'}])
      expect(await opened.store.approvals.get('else' as TenantId, story.approval)).toBeNull()
      expect(await opened.store.ledger.operation({...ref, tenant: 'else' as TenantId})).toBeNull()
    })

    test('[APP-2] audit entries are kept in order and by tenant; one that goes with an append goes or stays with it', async () => {
      const key = newKey()
      const entry = (reason: string) => ({
        tenant: key.tenant,
        subject: key.subject,
        action: 'approval.granted' as const,
        about: 'apr_x',
        reason,
        at,
      })
      await opened.store.audit.record(entry('one\0'))
      await locked(key, session => session.append([], {state: session.state, at, audit: entry('two')}))
      const failing = locked(key, async session => {
        await session.append([], {state: session.state, at, audit: entry('three')})
        throw new Error('crash')
      })
      await expect(failing).rejects.toThrow('crash')
      expect((await opened.store.audit.about(key.tenant, 'apr_x')).map(({reason}) => reason)).toEqual(['one\0', 'two'])
      expect(await opened.store.audit.about('else' as TenantId, 'apr_x')).toEqual([])
    })

    dueWorkContract(() => opened.store)
    blobContract(() => opened.store)

    test('[ID-3] the list holds the subject’s sessions only, latest first, no more than asked', async () => {
      const key = newKey()
      await opening(key)
      await opening({...key, session: env.id('session')})
      await opening({...key, session: env.id('session'), subject: 'eve' as SubjectId, create: 'eve' as SubjectId})
      expect(await opened.store.sessions.list(key, 10)).toHaveLength(2)
      expect(await opened.store.sessions.list(key, 1)).toHaveLength(1)
      const story = storyOf(key.session)
      await locked(key, async session => {
        const batch = await sealedBatch(session.state, [story.post()])
        await session.append(batch.sealed, {state: batch.state, at: at + 1})
      })
      const [latest] = await opened.store.sessions.list(key, 10)
      expect(latest).toEqual({id: key.session, agent: 'desk', title: null, head: 2, createdAt: at, updatedAt: at + 1})
    })
  })
}
