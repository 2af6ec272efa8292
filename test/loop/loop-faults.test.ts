import {afterEach, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {type Agent, defineAgent, defineTool} from '../../runtime/loop/define.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {type LocalDevice, localSession, openLocalDevice} from '../support/local-session.ts'

const open: {close(): Promise<void>}[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

type Model = Parameters<typeof localSession>[1]

async function opened(model: (device: LocalDevice) => unknown, agent?: Agent) {
  const device = await openLocalDevice()
  open.push(device)
  const local = await localSession(device, model.bind(null, device) as Model, agent && {agent})
  open.push(local)
  return local.session
}

/** What the view says once the loop has stopped. */
function stopped(session: Session): Promise<SessionView> {
  return new Promise(resolve => {
    const stop = session.subscribe(view => {
      if (!view.fault) return
      resolve(view)
      queueMicrotask(() => stop())
    })
  })
}

/** As Postgres, the file system and a browser say it. */
const postgres = (code: string) => Object.assign(new Error('the server said no'), {code})
const storage: [string, unknown][] = [
  ['a system error of Postgres', postgres('58030')],
  ['no resources', postgres('53200')],
  ['an intervention', postgres('57P01')],
  ['a fault of the file system', postgres('EIO')],
  ['a fault of a file in a browser', new DOMException('The disk does not answer', 'InvalidStateError')],
]

describe('a fault of the loop has its own code, and `not_durable` means that a write was not stored', () => {
  const notStorage: [string, unknown, string][] = [
    ['a model that is not configured', new HoldfastError('misconfigured', 'no key for this model'), 'misconfigured'],
    ['a model that throws', new TypeError('undefined is not a function'), 'internal'],
  ]
  test.each(notStorage)('[RUN-9] %s', async (_, error, code) => {
    const session = await opened(() => {
      throw error
    })
    await session.send('Hello.')
    const {message} = error as Error
    await expect(session.settled()).rejects.toMatchObject({code, message})
    expect(await stopped(session)).toMatchObject({fault: {code, message}, storageFault: null})
  })

  test('[RUN-9] an agent that cannot be described', async () => {
    const day = {...defineTool({name: 'day', description: 'A day.', version: '1', effect: 'read', input: z.object({})})}
    const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: []})
    const session = await opened(() => scriptedModel([]), {...agent, tools: [{...day, input: z.date() as never}]})
    await session.send('Hello.')
    const {fault, storageFault} = await stopped(session)
    expect(fault?.code).not.toBe('not_durable')
    expect(storageFault).toBeNull()
    await expect(session.settled()).rejects.toMatchObject(fault ?? {})
  })

  test.each(storage)('[SYNC-5] %s', async (_, error) => {
    const session = await opened(({db}) => {
      db.transaction = () => Promise.reject(error)
      return scriptedModel([])
    })
    await session.send('Hello.')
    await expect(session.settled()).rejects.toMatchObject({code: 'not_durable'})
    expect(await stopped(session)).toMatchObject({fault: {code: 'not_durable'}, storageFault: expect.any(String)})
  })

  test('[RUN-9] a statement that Postgres refuses is no fault of the storage', async () => {
    const session = await opened(({db}) => {
      db.transaction = () => Promise.reject(postgres('42P01'))
      return scriptedModel([])
    })
    await session.send('Hello.')
    await expect(session.settled()).rejects.toMatchObject({code: 'internal'})
  })
})

test('[RUN-9] settled, right after the first message of a session, waits for its run', async () => {
  const session = await opened(async () => {
    await new Promise(resolve => setImmediate(resolve))
    return scriptedModel([{text: 'Yes.'}])
  })
  await session.send('Hello.')
  expect((await session.settled()).status).toBe('completed')
})
