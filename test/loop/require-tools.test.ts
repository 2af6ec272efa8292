import {describe, expect, expectTypeOf, test} from 'vitest'
import * as z from 'zod'
import type {ToolImplementations} from '../../runtime/loop/define.ts'
import {requireTools} from '../../runtime/loop/require-tools.ts'
import {agentHost, defineAgent, defineTool, type LogLine, openRuntime} from '../../runtime/node.ts'
import type {Effect} from '../../runtime/protocol/tool.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {serveAgent} from '../../runtime/worker.ts'

const toolOf = (name: string, effect: Effect) => defineTool({name, description: 'Do it.', effect, input: z.object({})})
const agentOf = (tools: Record<string, Effect>, version = '1') => {
  const contracts = Object.entries(tools).map(([name, effect]) => toolOf(name, effect))
  return defineAgent({name: 'desk', version, instructions: 'Help.', tools: contracts})
}
const model = scriptedModel([])
const run = () => null

describe('[OP-1] functions that do not fit the tools are refused at the start, all by the names of their tools', () => {
  test.each<[string, Record<string, Effect>, Record<string, unknown>, string[]]>([
    ['no function for a read tool', {look: 'read'}, {}, ['tools.look: expected a function', 'read tool', 'undefined']],
    ['text for a local tool', {keep: 'local'}, {keep: 'later'}, ['tools.keep: expected a function', 'got a string']],
    [
      'a function for an external tool',
      {pay: 'external'},
      {pay: run},
      ['tools.pay: expected no function', 'operations'],
    ],
    ['a misspelt name', {look: 'read'}, {look: run, lokk: run}, ['tools.lokk:', 'did you mean "look"?']],
    ['a name of no tool', {look: 'read'}, {look: run, sell: run}, ['tools.sell:', 'the tools are look']],
    [
      'a name that all objects have',
      {valueOf: 'read'} as Record<string, Effect>,
      {},
      ['tools.valueOf: expected a function'],
    ],
    [
      'several at once',
      {look: 'read', pay: 'external'},
      {pay: run, sell: run},
      ['tools.look:', 'tools.pay:', 'tools.sell:'],
    ],
  ])('%s', async (_, tools, given, parts) => {
    const options = {model, tools: given as never}
    const opened = openRuntime({agent: agentOf(tools), ...options, dataDir: 'memory://'})
    const inNode = await opened.catch((error: Error) => error)
    expect(inNode).toMatchObject({code: 'misconfigured'})
    for (const part of parts) expect((inNode as Error).message).toContain(part)
    for (const part of parts) expect(() => serveAgent(agentOf(tools), options)).toThrow(part)
  })

  test('a version in `also` is named by its place', () => {
    const hosts = [
      agentHost(agentOf({look: 'read'}, '2'), {model, tools: {look: run}}),
      agentHost(agentOf({look: 'read', keep: 'local'}), {model, tools: {look: run}}),
    ]
    expect(() => requireTools(hosts, 'openRuntime')).toThrow('openRuntime: also.0.tools.keep: expected a function')
  })

  test('versions may share one object of functions, if one of them has the tool on the device', () => {
    const tools = {look: run, keep: run, pay: run}
    const hosts = [
      agentHost(agentOf({look: 'read', pay: 'external'}, '2'), {model, tools}),
      agentHost(agentOf({look: 'read', keep: 'local', pay: 'local'}), {model, tools}),
    ]
    requireTools(hosts, 'openRuntime')
  })
})

test('[OP-1] the type of the functions has no place for an external tool', () => {
  const tools = [toolNamed('look', 'read'), toolNamed('keep', 'local'), toolNamed('pay', 'external')] as const
  expectTypeOf<keyof ToolImplementations<typeof tools>>().toEqualTypeOf<'look' | 'keep'>()
})

function toolNamed<const Name extends string, const Kind extends Effect>(name: Name, effect: Kind) {
  return defineTool({name, description: 'Do it.', effect, input: z.object({})})
}

test('[OP-1] without a server an external call ends with an error that says so, and the start warns', async () => {
  const lines: LogLine[] = []
  const asked = scriptedModel([{calls: [{tool: 'pay', input: {}}]}, {text: 'There is no server, so nothing was paid.'}])
  const agent = agentOf({pay: 'external', look: 'read'})
  const runtime = await openRuntime({
    agent,
    model: asked,
    tools: {look: run},
    dataDir: 'memory://',
    log: line => lines.push(line),
  })
  expect(lines.filter(({event}) => event === 'tool.no_server')).toMatchObject([
    {level: 'warn', fields: {'gen_ai.agent.name': 'desk', 'gen_ai.tool.name': 'pay'}},
  ])
  const session = await runtime.openSession({agent: 'desk'})
  await session.send('Pay it.')
  expect(await session.settled()).toMatchObject({status: 'completed'})
  const {rows} = await runtime.db.query("select * from holdfast_events where kind = 'tool.returned'")
  expect(JSON.stringify(rows)).toContain('pay: there is no server that could carry this out. Nothing was done.')
  await runtime.close()
})
