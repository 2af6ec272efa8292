import {expect, test} from 'vitest'
import type {BlobRef} from '../../runtime/protocol/blob.ts'
import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import type {BlobRoom} from '../../sync-server/storage/blob-shelf.ts'
import type {Store} from '../../sync-server/storage/store.ts'
import {bytesWith, everyByte, refOf} from '../support/blobs.ts'
import {sealedBatch, storyOf} from './store-story.ts'

/** What every store keeps of blobs; part of the store contract. */
export function blobContract(store: () => Store): void {
  let tenants = 0
  const at = 1_900_000_000_000
  const plenty: BlobRoom = {sessionBytes: 1e9, tenantBytes: 1e9}
  const subject = 'ana' as SubjectId
  type Place = {tenant: TenantId; subject: SubjectId; session: SessionId}

  const lock = (place: Place) => ({...place, create: subject})
  async function opened(tenant = `blobs-${++tenants}` as TenantId): Promise<Place> {
    const place = {tenant, subject, session: env.id('session')}
    await store().sessions.locked(lock(place), async locked => {
      const batch = await sealedBatch(locked.state, storyOf(place.session).opened())
      await locked.append(batch.sealed, {state: batch.state, at})
    })
    return place
  }
  const put = (place: Place, bytes: Uint8Array, {room = plenty, when = at} = {}) =>
    store().blobs.put(place, place.session, {id: refOf(bytes).$blob, bytes, at: when}, room)
  const get = (place: Place, bytes: Uint8Array) => store().blobs.get(place, place.session, refOf(bytes).$blob)
  const lacking = async (place: Place, ...refs: BlobRef[]) =>
    (await store().sessions.locked(lock(place), locked => locked.lacking(refs)))?.value
  const name = (place: Place, ...refs: BlobRef[]) =>
    store().sessions.locked(lock(place), async locked => {
      const batch = await sealedBatch(locked.state, [storyOf(place.session).returned(refs)])
      await locked.append(batch.sealed, {state: batch.state, at})
    })

  test('[LOG-5] bytes come back exactly, none of them and 8 MiB of them too; put again nothing changes', async () => {
    const place = await opened()
    for (const bytes of [everyByte, new Uint8Array(), bytesWith('', limits.blobBytes)]) {
      expect(await put(place, bytes)).toEqual({kept: true})
      expect(await put(place, bytes)).toEqual({kept: true})
      expect(Buffer.from((await get(place, bytes))?.bytes ?? [1]).equals(bytes)).toBe(true)
    }
  })

  test('[ID-4] [RET-5] who asks for another’s session, or puts into it, finds what is not there', async () => {
    const place = await opened()
    await put(place, everyByte)
    const strangers = [
      {...place, subject: 'eve' as SubjectId},
      {...place, tenant: 'blobs-other' as TenantId},
      {...place, session: env.id('session')},
    ]
    for (const stranger of strangers) {
      expect(await get(stranger, everyByte)).toBeNull()
      expect(await put(stranger, everyByte)).toBeNull()
    }
    const mine = await opened(place.tenant)
    expect(await get(mine, everyByte)).toBeNull()
    expect(await lacking(mine, refOf(everyByte))).toEqual([refOf(everyByte).$blob])
  })

  test('[LOG-5] what an event would name is lacking until it is there in exactly the size it says', async () => {
    const place = await opened()
    const ref = refOf(everyByte)
    expect(await lacking(place, ref)).toEqual([ref.$blob])
    await put(place, everyByte)
    expect(await lacking(place, ref)).toEqual([])
    expect(await lacking(place, {...ref, bytes: 1023})).toEqual([ref.$blob])
  })

  test('[RET-1] what no event has named is dropped after its time, what one has stays, and bringing it again begins anew', async () => {
    const place = await opened()
    const [named, unnamed, again] = [bytesWith(), bytesWith(), bytesWith()]
    for (const bytes of [named, unnamed, again]) await put(place, bytes)
    await name(place, refOf(named))
    await put(place, again, {when: at + 1000})
    await store().blobs.dropUnnamed(at + 500, 1000)
    expect(await get(place, unnamed)).toBeNull()
    expect([(await get(place, named))?.bytes?.length, (await get(place, again))?.bytes?.length]).toEqual([3000, 3000])
    await store().blobs.dropUnnamed(at + 1500, 1000)
    expect([await get(place, again), (await get(place, named))?.bytes?.length]).toEqual([null, 3000])
  })

  test('[RET-1] a drop that meets the event that names it waits for it, and leaves it alone', async () => {
    const place = await opened()
    await put(place, everyByte)
    let dropping: Promise<number> | null = null
    await store().sessions.locked(lock(place), async locked => {
      expect(await locked.lacking([refOf(everyByte)])).toEqual([])
      const batch = await sealedBatch(locked.state, [storyOf(place.session).returned([refOf(everyByte)])])
      dropping = store().blobs.dropUnnamed(at + 1, 1000)
      await new Promise(resolve => setTimeout(resolve, 50))
      await locked.append(batch.sealed, {state: batch.state, at})
    })
    await dropping
    expect((await get(place, everyByte))?.bytes?.length).toBe(1024)
  })

  test('[SYNC-1] where there is no room that is written down, the event can name it all the same, and room later takes it', async () => {
    const place = await opened()
    const [first, second] = [bytesWith(), bytesWith()]
    const room = {sessionBytes: 5000, tenantBytes: 1e9}
    expect(await put(place, first, {room})).toEqual({kept: true})
    for (const _ of ['once', 'again']) {
      expect(await put(place, second, {room})).toEqual({kept: false, full: 'sessionBytes', used: 3000})
    }
    expect(await get(place, second)).toEqual({bytes: null})
    expect(await lacking(place, refOf(second))).toEqual([])
    await name(place, refOf(second))
    expect(await put(place, second)).toEqual({kept: true})
    expect((await get(place, second))?.bytes?.length).toBe(3000)
    const sibling = await opened(place.tenant)
    const full = {sessionBytes: 1e9, tenantBytes: 8999}
    expect(await put(sibling, bytesWith(), {room: full})).toEqual({kept: false, full: 'tenantBytes', used: 6000})
    expect(await put(await opened(), bytesWith(), {room: full})).toEqual({kept: true})
  })

  test('[RET-5] of two sessions of a tenant that put at once only one gets the last room', async () => {
    const tenant = `blobs-${++tenants}` as TenantId
    const places = [await opened(tenant), await opened(tenant)]
    const room = {sessionBytes: 1e9, tenantBytes: 5999}
    const puts = await Promise.all(places.map(place => put(place, bytesWith(), {room})))
    expect(puts.filter(one => one?.kept)).toHaveLength(1)
  })

  test('[RET-2] an erasure of the session takes them, and not the same bytes of another session', async () => {
    const place = await opened()
    const other = await opened(place.tenant)
    for (const each of [place, other]) await put(each, everyByte)
    await name(place, refOf(everyByte))
    const order = {id: env.id('erasure'), tenant: place.tenant, by: subject, at, of: subject, derived: false}
    await store().erasures.begin({...order, session: place.session, branches: 'keep'})
    expect(await get(place, everyByte)).toBeNull()
    expect(await put(place, everyByte)).toBeNull()
    expect((await get(other, everyByte))?.bytes?.length).toBe(1024)
    const stored = await store().erasures.receipt({tenant: place.tenant, erasure: order.id})
    expect(stored?.receipt.layers).toContainEqual({name: 'blobs', removed: 1, kept: null})
  })
}
