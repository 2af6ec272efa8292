import {afterEach, describe, expect, test} from 'vitest'
import {giveAway} from '../../runtime/platform/give-away.ts'
import {connectService, exposeService} from '../../runtime/platform/rpc.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'

const [given, kept] = [Uint8Array.of(1, 2, 3), Uint8Array.of(4)]

const desk = {
  give: async () => giveAway(given),
  show: async () => kept,
  add: async (a: number, b: number) => a + b,
  refuse: async () => {
    const cause = new Error('disk is full')
    throw new HoldfastError('storage_full', 'No room for this.', {details: {bytes: 12, path: ['a']}, cause})
  },
  crash: async () => {
    throw new TypeError('not a function')
  },
  never: () => new Promise<string>(() => {}),
  uncloneable: async () => () => {},
}

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

function connect(options: {deadlineMs?: number; deadlines?: Record<string, number>} = {}) {
  const {port1, port2} = new MessageChannel()
  const stop = exposeService(desk, port1 as never)
  const connection = connectService<typeof desk>(port2 as never, options)
  cleanups.push(() => {
    port1.close()
    port2.close()
  })
  return {...connection, stop}
}

describe('calls between contexts', () => {
  test('a call returns what the method returned', async () => {
    const {service} = connect()
    expect(await Promise.all([service.add(1, 2), service.add(3, 4)])).toEqual([3, 7])
  })

  test('bytes that are given away move, over one connection and the next; what is only shown is copied', async () => {
    const leader = connect()
    const {port1, port2} = new MessageChannel()
    const follower = {give: () => leader.service.give(), show: () => leader.service.show()}
    const stop = exposeService(follower, port1 as never)
    const {service} = connectService<typeof follower>(port2 as never)
    expect([[...(await service.give())], [...(await service.show())]]).toEqual([[1, 2, 3], [4]])
    expect([given.byteLength, kept.byteLength]).toEqual([0, 1])
    stop()
    port1.close()
    port2.close()
  })

  test('[CUS-5] an error keeps its code, message, details and cause on the other side', async () => {
    const {service} = connect()
    const error = await service.refuse().catch(thrown => thrown)
    expect(error).toBeInstanceOf(HoldfastError)
    expect(error).toMatchObject({code: 'storage_full', message: 'No room for this.', details: {bytes: 12, path: ['a']}})
    expect(error.cause.message).toBe('disk is full')
  })

  test('[CUS-5] an unforeseen exception arrives as a typed error, not as a bare one', async () => {
    const {service} = connect()
    await expect(service.crash()).rejects.toMatchObject({code: 'internal', message: 'not a function'})
  })

  test('[CUS-5] a peer that never answers yields a deadline error, never a hang', async () => {
    const {service} = connect({deadlineMs: 30})
    await expect(service.never()).rejects.toMatchObject({code: 'deadline', details: {method: 'never', deadlineMs: 30}})
  })

  test('[CUS-5] a method may have a deadline of its own', async () => {
    const {service} = connect({deadlineMs: 60_000, deadlines: {never: 30}})
    await expect(service.never()).rejects.toMatchObject({code: 'deadline'})
  })

  test('[CUS-5] a dead peer rejects the pending calls and every later one', async () => {
    const {service, fail} = connect({deadlineMs: Number.POSITIVE_INFINITY})
    const pending = service.never().catch(error => error)
    fail('The worker was terminated.')
    expect(await pending).toMatchObject({code: 'peer_gone', message: 'The worker was terminated.'})
    await expect(service.add(1, 2)).rejects.toMatchObject({code: 'peer_gone'})
  })

  test('[CUS-5] a service that stopped answers nobody', async () => {
    const {service, stop} = connect({deadlineMs: 30})
    stop()
    await expect(service.add(1, 2)).rejects.toMatchObject({code: 'deadline'})
  })

  test('an argument that cannot be cloned is refused before anything is sent', async () => {
    const {service} = connect()
    const call = service.add as unknown as (value: unknown) => Promise<number>
    await expect(call(() => {})).rejects.toMatchObject({code: 'bad_input'})
  })

  test('a result that cannot be cloned is an error, not a hang', async () => {
    const {service} = connect({deadlineMs: 1_000})
    await expect(service.uncloneable()).rejects.toBeInstanceOf(HoldfastError)
  })

  test.each(['constructor', 'toString', 'missing'])('a method the service does not have is named: %s', async name => {
    const {service} = connect()
    const methods = service as unknown as Record<string, () => Promise<unknown>>
    await expect(methods[name]!()).rejects.toMatchObject({code: 'not_found', details: {method: name}})
  })

  test('a connection can be returned from an async function', async () => {
    const {service} = await (async () => ({service: await Promise.resolve(connect().service)}))()
    expect(await service.add(2, 2)).toBe(4)
  })
})
