import {access} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {expect, test} from 'vitest'
import {openRuntime} from '../../runtime/node.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk} from '../support/desk.ts'

test('[SYNC-4] what can never bring a token is refused by the name of its field, before a database is opened', async () => {
  const dataDir = join(tmpdir(), `holdfast-never-${process.pid}`)
  const options = {agent: {...desk, tools: []}, model: scriptedModel([]), tools: {}, dataDir}
  const sync = {url: 'http://desk.test'} as never
  await expect(openRuntime({...options, sync})).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringContaining('sync.token: expected a token or a function that brings one, got undefined'),
  })
  await expect(access(dataDir)).rejects.toThrow('ENOENT')
})
