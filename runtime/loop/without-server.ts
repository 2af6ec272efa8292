import type {ToolContract} from '../protocol/tool.ts'
import type {AgentHost} from './define.ts'
import type {Reply} from './model-port.ts'

/**
 * Answers calls of external tools with an error on a runtime without a server. No server could execute them, and the
 * run would wait indefinitely. [OP-1]
 */
export function withoutExternal(reply: Reply, tools: readonly ToolContract[]): Reply {
  const external = new Set(tools.filter(({effect}) => effect === 'external').map(({name}) => name))
  const content = reply.content.map(part =>
    part.type === 'call' && external.has(part.tool) && part.fault === undefined
      ? {...part, fault: `${part.tool}: there is no server that could carry this out. Nothing was done.`}
      : part,
  )
  return {...reply, content}
}

/** The external tools of each served agent, for a warning at the start. */
export function externalTools(hosts: readonly AgentHost[]): {agent: string; tool: string}[] {
  const found = hosts.flatMap(({agent}) =>
    agent.tools.filter(({effect}) => effect === 'external').map(tool => ({agent: agent.name, tool: tool.name})),
  )
  return found.filter((one, i) => found.findIndex(other => other.agent === one.agent && other.tool === one.tool) === i)
}
