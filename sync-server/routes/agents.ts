import {activationSchema, agentListSchema, agentManifestSchema, agentNameSchema} from '../../runtime/protocol/wire.ts'
import {activateVersion, type Publishing, publishVersion} from '../authority/agents.ts'
import type {Principal} from '../principal.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

/**
 * Maximum number of versions listed, over all agents, latest first. Unlisted versions stay published for runs pinned
 * to them.
 */
const listedVersions = 1000

const listAgents = route({
  name: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  summary: 'The published versions of every agent, and the one that new runs take.',
  answers: {200: agentListSchema},
})

const publishAgent = route({
  name: 'publishAgent',
  method: 'POST',
  path: '/v1/agents/:name/versions',
  summary: 'Publishes the manifest of a version, once and for all.',
  params: {name: agentNameSchema},
  body: agentManifestSchema,
  answers: {200: agentListSchema},
  errors: ['forbidden', 'conflict'],
})

const activateAgent = route({
  name: 'activateAgent',
  method: 'POST',
  path: '/v1/agents/:name/active',
  summary: 'New runs take this version from now on; runs under way stay on theirs.',
  params: {name: agentNameSchema},
  body: activationSchema,
  answers: {200: agentListSchema},
  errors: ['forbidden', 'not_found'],
})

export function agentRoutes(app: App, publishing: Publishing): void {
  const {agents} = publishing.store
  const list = async ({tenant}: Principal) => ({agents: await agents.list(tenant, listedVersions)})

  handle(app, listAgents, ({principal}) => list(principal))

  handle(app, publishAgent, async ({params: {name}, body, principal}) => {
    await publishVersion(publishing, principal, name, body)
    return list(principal)
  })

  handle(app, activateAgent, async ({params: {name}, body: {version}, principal}) => {
    await activateVersion(publishing, principal, name, version)
    return list(principal)
  })
}
