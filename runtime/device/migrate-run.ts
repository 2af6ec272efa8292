import {type AgentHost, type ModelGateway, modelLabel} from '../loop/define.ts'
import {pinnedVersionOf} from '../loop/pin-of.ts'
import {badInput, HoldfastError} from '../protocol/errors.ts'
import type {DataOf, Draft} from '../protocol/event.ts'
import {callsToCarry} from '../protocol/migration.ts'
import {refusalError} from '../protocol/refusal.ts'
import type {CallState, SessionState} from '../protocol/session.ts'

/**
 * The event that moves a run to another version of its agent in this build: every open input has been parsed by the new
 * version's own schema, and the event says under which. [PIN-3]
 *
 * @throws HoldfastError `refused` naming each open call that the version cannot carry on, `not_found` for a version that
 * this build does not have
 */
export async function migrationDraft(
  parts: {hosts: readonly AgentHost[]; gateway: ModelGateway},
  state: SessionState,
  to: {version: string; reason: string},
): Promise<Draft<'run.migrated'>> {
  const {run} = state
  if (!run) throw new HoldfastError('not_found', 'migrate: this session has no run')
  const host = hostOf(parts.hosts, run.pin.agent, to.version)
  const version = await pinnedVersionOf(host, await labelFor(host, parts.gateway, run.pin.model.label))
  const calls = callsToCarry(state, run)
  const faults = calls.flatMap(call => inputFault(host, call) ?? [])
  if (faults.length > 0) {
    throw refusalError({
      code: 'refused',
      asked: `run.migrated to version ${to.version}`,
      met: faults.join('; '),
      owner: 'user',
      legal: [
        'answer the open calls under the pinned version',
        'migrate to a version that takes them',
        'run.cancelled',
      ],
    })
  }
  const checked: DataOf<'run.migrated'>['checked'] = calls.flatMap(({id, tool}) => {
    const own = version.tools.find(({name}) => name === tool)
    return own ? [{call: id, hash: own.hash}] : []
  })
  return {kind: 'run.migrated', data: {to: version, checked, reason: to.reason}, run: run.id}
}

function hostOf(hosts: readonly AgentHost[], agent: string, version: string): AgentHost {
  const own = hosts.filter(host => host.agent.name === agent)
  const host = own.find(one => one.agent.version === version)
  if (host) return host
  const has = own.map(one => one.agent.version).join(', ') || 'none'
  throw new HoldfastError('not_found', `migrate: this build has no version ${version} of "${agent}", it has ${has}`)
}

/** The pinned model where the version can be run by it, else whatever it takes for a new run. */
async function labelFor({model}: AgentHost, gateway: ModelGateway, pinned: string): Promise<string> {
  if (typeof model !== 'function') return modelLabel(model)
  const same = modelLabel(await model({gateway, pinned}))
  return same === pinned ? same : modelLabel(await model({gateway, pinned: null}))
}

function inputFault({agent}: AgentHost, call: CallState): string | null {
  const tool = agent.tools.find(({name}) => name === call.tool)
  if (!tool) return `open call ${call.id} of "${call.tool}", a tool that version ${agent.version} does not have`
  const checked = tool.input.safeParse(call.input)
  return checked.success ? null : `open call ${call.id} of ${badInput(`"${call.tool}"`, checked.error).message}`
}
