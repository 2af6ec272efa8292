import {misconfigured} from '../protocol/check-options.ts'
import {kindOf} from '../protocol/expectation.ts'
import {type FieldFault, nearName} from '../protocol/field-faults.ts'
import type {ToolContract} from '../protocol/tool.ts'
import type {AgentHost} from './define.ts'

/**
 * Refuses at the start what would fail at the first call: a read or local tool without its function, a function for an
 * external tool, and a function that no served agent declares a tool for. The first host has its tools in the options
 * themselves, the others in `also`. Versions of an agent may share one object of functions.
 *
 * @throws HoldfastError `misconfigured` naming every such tool
 */
export function requireTools(hosts: readonly AgentHost[], entry: string): void {
  const declared = hosts.flatMap(({agent}) => agent.tools)
  const faults = hosts.flatMap((host, i) => faultsOf(host, i === 0 ? 'tools' : `also.${i - 1}.tools`, declared))
  if (faults.length > 0) throw misconfigured(entry, faults)
}

function faultsOf({agent, tools}: AgentHost, field: string, declared: readonly ToolContract[]): FieldFault[] {
  const given = tools as Readonly<Record<string, unknown>>
  const missing = agent.tools
    .filter(({name, effect}) => effect !== 'external' && typeof ownOf(given, name) !== 'function')
    .map(({name, effect}) => ({
      field: `${field}.${name}`,
      expected: `expected a function, because this ${effect} tool of agent "${agent.name}" ${agent.version} runs on the device, got ${kindOf(ownOf(given, name))}`,
    }))
  const named = new Set(missing.map(fault => fault.field))
  const others = Object.keys(given)
    .filter(name => given[name] !== undefined && !named.has(`${field}.${name}`))
    .flatMap(name => {
      const expected = faultOfGiven(name, given[name], declared)
      return expected === null ? [] : [{field: `${field}.${name.slice(0, 80)}`, expected}]
    })
  return [...missing, ...others]
}

function faultOfGiven(name: string, value: unknown, declared: readonly ToolContract[]): string | null {
  const contracts = declared.filter(tool => tool.name === name)
  if (contracts.length === 0) return unknownTool(name, declared)
  if (contracts.every(({effect}) => effect === 'external')) {
    return 'expected no function, because an external tool runs on the server: give it to `operations` of createSyncServer, or declare the tool with effect "read" or "local"'
  }
  return typeof value === 'function' ? null : `expected a function, got ${kindOf(value)}`
}

function unknownTool(name: string, declared: readonly ToolContract[]): string {
  const names = [...new Set(declared.filter(({effect}) => effect !== 'external').map(tool => tool.name))]
  const near = nearName(name, names)
  if (near !== null) return `expected no function, since no agent has a tool of this name, did you mean "${near}"?`
  const known =
    names.length > 0 ? `the tools are ${names.slice(0, 20).join(', ')}` : 'no agent has a tool that runs here'
  return `expected no function, since no agent has a tool of this name; ${known}`
}

function ownOf(given: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(given, name) ? given[name] : undefined
}
