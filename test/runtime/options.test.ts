import {access, mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {expect, test} from 'vitest'
import {agentHost, openRuntime} from '../../runtime/node.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk} from '../support/desk.ts'

test('[SYNC-4] what can never bring a token is refused by the name of its field, before a database is opened', async () => {
  const dataDir = join(tmpdir(), `holdfast-never-${process.pid}`)
  const options = {agent: {...desk, tools: []}, model: scriptedModel([]), tools: {}, dataDir}
  const sync = {url: 'http://desk.test'} as never
  await expect(openRuntime({...options, sync})).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringContaining('sync.token: expected a token or a function that returns one, got undefined'),
  })
  await expect(access(dataDir)).rejects.toThrow('ENOENT')
})

test.each([undefined, null, '', 42, {}])('%s as dataDir is refused, and no folder is made', async dataDir => {
  const options = {agent: {...desk, tools: []}, model: scriptedModel([]), tools: {}}
  await expect(openRuntime({...options, dataDir: dataDir as never})).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringContaining('dataDir: expected the path of a folder or "memory://"'),
  })
})

test('[CUS-5] what cannot run lets go of its folder, so that the next try hears why and not that it is in use', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-twice-'))
  const agent = {...desk, tools: []}
  const model = scriptedModel([])
  const also = [agentHost(agent, {model, tools: {}})]
  for (let tries = 0; tries < 2; tries++) {
    await expect(openRuntime({agent, model, tools: {}, also, dataDir})).rejects.toMatchObject({code: 'misconfigured'})
  }
  await (await openRuntime({agent, model, tools: {}, dataDir})).close()
  await rm(dataDir, {recursive: true})
})
