import {describe, expect, test} from 'vitest'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {TenantId} from '../../runtime/protocol/ids.ts'
import {type AgentListing, type AgentManifest, agentListSchema} from '../../runtime/protocol/wire.ts'
import {createBus, type Poke} from '../../sync-server/index.ts'
import {pinnedTool} from '../support/pin.ts'
import {call, type Served, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers} from './support/desk-server.ts'

const database = testDatabase()
const servers = deskServers(database)

const pia: Who = {tenant: 'shop', subject: 'pia', roles: ['publisher']}
const maya: Who = {tenant: 'shop', subject: 'maya'}
const stranger: Who = {tenant: 'elsewhere', subject: 'pia', roles: ['publisher']}

function manifest(version: string, over: Partial<AgentManifest> = {}): AgentManifest {
  return {version, tools: [pinnedTool('refundOrder', 'external')], toolsHash: 'a'.repeat(64), ...over}
}

type Answer = {agents: AgentListing[]; error?: ErrorBody}

function publish(server: Served, who: Who, name: string, body: unknown) {
  return call<Answer>(server, who, `/v1/agents/${name}/versions`, body)
}

function activate(server: Served, who: Who, name: string, version: string) {
  return call<Answer>(server, who, `/v1/agents/${name}/active`, {version})
}

async function listed(server: Served, who: Who, name: string): Promise<AgentListing | undefined> {
  const {body} = await call<Answer>(server, who, '/v1/agents')
  return agentListSchema.parse(body).agents.find(agent => agent.name === name)
}

async function audited(name: string, version: string) {
  const entries = await database.store.audit.about('shop' as TenantId, `${name}@${version}`)
  return entries.map(({action, subject}) => `${subject} ${action}`)
}

describe('the registry of agents', () => {
  test('[PIN-1] a version is published and made active, seen by the whole tenant and by nobody else, and audited', async () => {
    const pokes: Poke[] = []
    const bus = createBus()
    bus.subscribe(poke => pokes.push(poke))
    const server = servers.server({bus})
    expect((await publish(server, pia, 'desk', manifest('1.0.0'))).status).toBe(200)
    expect(await listed(server, maya, 'desk')).toMatchObject({active: null, versions: [manifest('1.0.0')]})
    expect((await activate(server, pia, 'desk', '1.0.0')).status).toBe(200)
    expect(await listed(server, maya, 'desk')).toMatchObject({active: '1.0.0'})
    expect(await listed(server, stranger, 'desk')).toBeUndefined()
    expect(pokes).toEqual([
      {type: 'agents', tenant: 'shop'},
      {type: 'agents', tenant: 'shop'},
    ])
    expect(await audited('desk', '1.0.0')).toEqual(['pia agent.published', 'pia agent.activated'])
  })

  test('[PIN-2] the same manifest again changes nothing; another under the same version is refused and audited', async () => {
    const server = servers.server()
    await publish(server, pia, 'twice', manifest('1.0.0'))
    expect((await publish(server, pia, 'twice', manifest('1.0.0'))).status).toBe(200)
    const other = await publish(server, pia, 'twice', manifest('1.0.0', {toolsHash: 'b'.repeat(64)}))
    expect(other).toMatchObject({status: 409, body: {error: {code: 'conflict'}}})
    expect((await listed(server, pia, 'twice'))?.versions).toMatchObject([manifest('1.0.0')])
    expect(await audited('twice', '1.0.0')).toEqual(['pia agent.published', 'pia agent.refused'])
  })

  test('[PIN-2] other instructions under the same version are refused; a version of an earlier build is known without', async () => {
    const server = servers.server()
    const withText = (letter: string) => manifest('1.0.0', {instructionsHash: letter.repeat(64)})
    await publish(server, pia, 'reworded', withText('c'))
    expect((await publish(server, pia, 'reworded', withText('c'))).status).toBe(200)
    expect((await publish(server, pia, 'reworded', manifest('1.0.0'))).status).toBe(200)
    expect((await publish(server, pia, 'reworded', withText('d'))).status).toBe(409)
  })

  test('[ID-4] without the role nobody publishes or moves anything, and the attempt is audited', async () => {
    const server = servers.server({roles: {publisher: 'release-manager'}})
    for (const attempt of [publish(server, pia, 'mine', manifest('1.0.0')), activate(server, pia, 'mine', '1.0.0')]) {
      expect(await attempt).toMatchObject({
        status: 403,
        body: {error: {message: expect.stringContaining('release-manager')}},
      })
    }
    expect(await listed(server, pia, 'mine')).toBeUndefined()
    expect(await audited('mine', '1.0.0')).toEqual(['pia agent.refused', 'pia agent.refused'])
  })

  const wrong: [string, () => Promise<{status: number; body: Answer}>, number, string][] = [
    ['a version nobody published', () => activate(servers.server(), pia, 'desk', '9.9.9'), 404, '9.9.9'],
    ['a name no agent can have', () => publish(servers.server(), pia, '1desk', manifest('1.0.0')), 400, 'name'],
    [
      'a tool without its hash',
      () =>
        publish(servers.server(), pia, 'desk', {...manifest('3'), tools: [{name: 'x', version: '1', effect: 'read'}]}),
      400,
      'tools.0.hash',
    ],
    [
      'more than a manifest',
      () => publish(servers.server(), pia, 'desk', {...manifest('3'), secret: 1}),
      400,
      'secret',
    ],
  ]
  test.each(wrong)('[RUN-9] %s is answered by name, and nothing is kept', async (_, ask, status, named) => {
    const before = await listed(servers.server(), pia, 'desk')
    const answer = await ask()
    expect(answer.status).toBe(status)
    expect(answer.body.error?.message).toContain(named)
    expect(await listed(servers.server(), pia, 'desk')).toEqual(before)
  })
})
