import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import {issueToken} from '../../sync-server/index.ts'
import {tokenIssue} from '../../web-demo/server/demo-routes.ts'
import {demoSecret} from '../../web-demo/server/demo-secret.ts'
import {openShop} from '../../web-demo/server/open-demo.ts'
import {realPostgres} from '../support/real-postgres.ts'

const postgres = realPostgres()

test('[RET-2] the demo completes receipts on Postgres when its operator states that the files are clean', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-files-rewritten-'))
  const subject = 'ana'
  const open = (filesRewrittenAt?: number) =>
    openShop({
      dataDir,
      databaseUrl: postgres().url,
      model: null,
      ...(filesRewrittenAt !== undefined && {filesRewrittenAt}),
    })
  const ask = async (shop: Awaited<ReturnType<typeof openShop>>, path: string, body?: unknown) => {
    const token = await issueToken({
      ...tokenIssue,
      secret: await demoSecret(dataDir),
      tenant: 'shop',
      subject,
      roles: [],
    })
    const init = body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)}
    const headers = {authorization: `Bearer ${token}`, 'holdfast-protocol': '1'}
    const answer = await shop.app.request(path, {...init, headers})
    expect(answer.status).toBe(200)
    return (await answer.json()) as ErasureReceipt
  }
  const first = await open()
  const erased = await ask(first, '/v1/erasures', {subject})
  expect(erased).toMatchObject({status: 'waiting', outstanding: {files: true}})
  await first.sync.close()
  await first.closeDatabase()
  const second = await open(Date.now())
  expect(await ask(second, `/v1/erasures/${erased.erasure}`)).toMatchObject({
    status: 'complete',
    outstanding: {files: false},
  })
  await second.sync.close()
  await second.closeDatabase()
  await expect(open(Date.parse('tomorrow'))).rejects.toMatchObject({code: 'bad_input'})
  await rm(dataDir, {recursive: true, force: true})
})
