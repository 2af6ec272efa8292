import type * as z from 'zod'
import {parse} from '../../runtime/protocol/errors.ts'
import {
  activationSchema,
  type agentListSchema,
  agentManifestSchema,
  agentNameSchema,
} from '../../runtime/protocol/wire.ts'
import {activateVersion, type Publishing, publishVersion} from '../authority/agents.ts'
import {type App, type Ctx, readBody} from './http.ts'

/** Of all agents together, latest first; an older version stays published and is found by the runs pinned to it. */
const listedVersions = 1000

export function agentRoutes(app: App, publishing: Publishing): void {
  const {agents} = publishing.store
  const list = async (c: Ctx) =>
    c.json({agents: await agents.list(c.get('principal').tenant, listedVersions)} satisfies z.infer<
      typeof agentListSchema
    >)

  app.get('/v1/agents', list)

  app.post('/v1/agents/:name/versions', async c => {
    const name = nameParam(c)
    await publishVersion(publishing, c.get('principal'), name, await readBody(c, agentManifestSchema))
    return list(c)
  })

  app.post('/v1/agents/:name/active', async c => {
    const name = nameParam(c)
    const {version} = await readBody(c, activationSchema)
    await activateVersion(publishing, c.get('principal'), name, version)
    return list(c)
  })
}

function nameParam(c: Ctx): string {
  return parse(agentNameSchema, c.req.param('name'), 'name')
}
