import {expect, test} from 'vitest'
import {openRuntime} from '../../runtime/node.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import * as ids from '../../runtime/protocol/ids.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk, deskTools} from '../support/desk.ts'

const generated = {
  device: ids.deviceIdSchema,
  session: ids.sessionIdSchema,
  run: ids.runIdSchema,
  step: ids.stepIdSchema,
  call: ids.callIdSchema,
  operation: ids.operationIdSchema,
  approval: ids.approvalIdSchema,
  event: ids.eventIdSchema,
  delegation: ids.delegationIdSchema,
  key: ids.approverKeyIdSchema,
}
const names = Object.keys(generated) as (keyof typeof generated)[]

test.each(names)('[ID-1] an id of %s passes as that and as nothing else', name => {
  const id = env.id(name)
  const takers = names.filter(other => generated[other].safeParse(id).success)
  expect(takers).toEqual([name])
})

test('[ID-1] two ids are never the same and none holds another', () => {
  const made = names.flatMap(name => Array.from({length: 200}, () => env.id(name)))
  expect(new Set(made.map(id => id.slice(4))).size).toBe(made.length)
})

const malformed = [
  'ses_',
  'ses_01890a5d-ac96-4b7c-8f3e-0123456789ab',
  'ses_01890A5D-AC96-7B7C-8F3E-0123456789AB',
  ' ses_01890a5d-ac96-7b7c-8f3e-0123456789ab',
  'ses_01890a5d-ac96-7b7c-8f3e-0123456789ab\n',
  'ses_01890a5d-ac96-7b7c-cf3e-0123456789ab',
  '01890a5d-ac96-7b7c-8f3e-0123456789ab',
]
test.each(malformed)('[ID-2] %j is no session id', id => {
  expect(ids.sessionIdSchema.safeParse(id).success).toBe(false)
})

test('[ID-2] a session under the id of a user, tenant, device or run is refused by name, and nothing is stored', async () => {
  const runtime = await openRuntime({agent: desk, model: scriptedModel([]), tools: deskTools, dataDir: 'memory://'})
  for (const id of ['maya', 'shop', 'user_42', '', env.id('device'), env.id('run')]) {
    await expect(runtime.openSession({session: id})).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining('openSession.session: expected a session id'),
    })
  }
  await expect(runtime.openSession({session: env.id('session')})).rejects.toMatchObject({code: 'not_found'})
  const {rows} = await runtime.db.query('select id from holdfast_sessions')
  expect(rows).toEqual([])
  await runtime.close()
})
