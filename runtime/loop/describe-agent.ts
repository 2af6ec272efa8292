import * as z from 'zod'
import {wellFormed} from '../protocol/text.ts'
import type {PinnedTool, ToolContract} from '../protocol/tool.ts'
import {canonicalHash} from './canonical-hash.ts'
import type {Agent} from './define.ts'
import type {AgentBuild} from './next-step.ts'

/** An agent of this build, as pins and the registry describe it. */
export type DescribedAgent = AgentBuild & {toolsHash: string; instructionsHash: string}

const described = new WeakMap<Agent, Promise<DescribedAgent>>()

/**
 * Returns name, version, tool contracts and instructions with their hashes. Computed once for each agent, because the
 * pure code that compares them can neither hash nor read a schema. [PIN-1]
 *
 * @example const {name: _, ...manifest} = await describeAgent(desk)
 */
export function describeAgent(agent: Agent): Promise<DescribedAgent> {
  const known = described.get(agent) ?? describe(agent)
  described.set(agent, known)
  return known
}

async function describe({name, version, tools: contracts, instructions}: Agent): Promise<DescribedAgent> {
  const tools = await Promise.all(contracts.map(describeTool))
  const toolsHash = await canonicalHash(contracts.map(contractOf))
  return {name, version, tools, toolsHash, instructionsHash: await canonicalHash(wellFormed(instructions))}
}

async function describeTool(tool: ToolContract): Promise<PinnedTool> {
  const {name, version, effect} = tool
  return {name, version, effect, hash: await canonicalHash(contractOf(tool))}
}

/** The parts of a tool that the model sees, and its effect. */
function contractOf({name, version, effect, description, input}: ToolContract) {
  return {name, version, effect, description, input: z.toJSONSchema(input, {io: 'input', unrepresentable: 'any'})}
}
