import {access, mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {describe, expect, test} from 'vitest'
import * as z from 'zod'
import {openInbox, openRuntime as openInPage} from '../../runtime/index.ts'
import {agentHost, defineAgent, defineTool, gatewayModel, openNodeDatabase, openRuntime} from '../../runtime/node.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {serveAgent} from '../../runtime/worker.ts'
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

const model = scriptedModel([])
const bare = {...desk, tools: []}
const node = (options: object) =>
  openRuntime({agent: bare, model, tools: {}, dataDir: 'memory://', ...options} as never)
const page = (options: object) => openInPage({worker: () => new Worker(''), ...options} as never)
const serve = (options: object) => serveAgent(bare, {model, tools: {}, ...options} as never)
const tool = (options: object) =>
  defineTool({name: 'look', description: 'Look.', input: z.object({}), ...options} as never)
const agent = (options: object) =>
  defineAgent({name: 'desk', version: '1', instructions: 'Help.', tools: [], ...options} as never)
const link = {setOnline: () => undefined}

/** What is called, and the parts that its one message has to name. */
const refused: [string, () => unknown, string[]][] = [
  ['Node: no options', () => openRuntime(undefined as never), ['openRuntime: expected an object, got undefined']],
  ['Node: no agent', () => node({agent: {}}), ['agent: expected an agent, as defineAgent returns it, got an object']],
  ['Node: no tools', () => node({tools: undefined}), ['tools: expected an object with a function for each tool']],
  [
    'Node: everything wrong',
    () => node({modelProfiles: 42, router: 'x', retryDelayMs: 'x', log: 42}),
    [
      'modelProfiles: expected an object, got 42',
      'router: expected a function, got a string',
      'retryDelayMs: expected a number, got a string',
      'log: expected a function, got 42',
    ],
  ],
  [
    'Node: a misspelt name',
    () => node({retryDelay: 5}),
    ['retryDelay: expected no such field, did you mean "retryDelayMs"?'],
  ],
  ['Node: an endless pause', () => node({retryDelayMs: Number.POSITIVE_INFINITY}), ['retryDelayMs:', 'got Infinity']],
  ['Node: hosts that are none', () => node({also: {}}), ['also: expected a list, got an object']],
  ['Node: an agent in place of its host', () => node({also: [bare]}), ['also.0.agent: expected an agent']],
  ['Node: an address as sync', () => node({sync: 'http://desk.test'}), ['sync: expected an object, got a string']],
  [
    'Node: a relative address',
    () => node({sync: {url: '/agents', token: 'x'}}),
    ['sync.url: expected an absolute http'],
  ],
  ['Node: link and url', () => node({sync: {link, url: 'http://desk.test'}}), ['sync.url: expected no such field']],
  ['Node: a link of nothing', () => node({sync: {link: {}}}), ['sync.link: expected a link of httpLink']],
  ['Node: the name of a model', () => node({model: 'gpt'}), ['model: expected a language model', 'the name "gpt"']],
  [
    'Node: a memory of nothing',
    () => node({memory: {extractor: {}, embeder: 1}}),
    ['memory.extractor:', '"embedder"?'],
  ],
  [
    'Node: a clock of nothing',
    () => node({environment: {now: Date.now}}),
    ['environment: expected an environment with'],
  ],
  ['page: no options', () => openInPage(undefined as never), ['openRuntime: expected an object, got undefined']],
  ['page: a worker in place of its function', () => page({worker: {}}), ['worker: expected a function, got an object']],
  [
    'page: misspelt names',
    () => page({deadline: 5, sync: {ulr: 'x'}}),
    ['deadline: expected no such field', '"deadlineMs"?', 'sync.url:', '"url"?'],
  ],
  ['page: NaN as deadline', () => page({deadlineMs: Number.NaN}), ['deadlineMs: expected a number, got NaN']],
  [
    'page: a long name',
    () => page({name: 'x'.repeat(1_000_000)}),
    ['name: expected a letter or digit', 'got a string'],
  ],
  ['worker: no options', () => serveAgent(bare, undefined as never), ['serveAgent: expected an object, got undefined']],
  ['worker: no agent', () => serveAgent(null as never, {model, tools: {}}), ['serveAgent: agent: expected an agent']],
  ['worker: a misspelt name', () => serve({modelProfile: {}}), ['did you mean "modelProfiles"?']],
  ['host: no agent', () => agentHost('desk' as never, {model, tools: {}}), ['agentHost: agent: expected an agent']],
  ['host: no model', () => agentHost(bare, {tools: {}} as never), ['agentHost: model: expected a language model']],
  ['inbox: no address', () => openInbox({} as never), ['openInbox: url: expected an absolute http']],
  ['inbox: a misspelt name', () => openInbox({url: 'http://x.test', ofline: {}} as never), ['did you mean "offline"?']],
  ['database: an empty path', () => openNodeDatabase({dataDir: ''}), ['openNodeDatabase: dataDir: expected the path']],
  [
    'database: an unknown policy',
    () => openNodeDatabase({dataDir: 'memory://', onDamage: 'begin' as never}),
    ['onDamage: expected "refuse" or "begin_anew"'],
  ],
  [
    'gateway: a misspelt name',
    () => gatewayModel({falback: model} as never),
    ['gatewayModel: falback: expected no such field, did you mean "fallback"?'],
  ],
  [
    'gateway: no model',
    () => gatewayModel({fallback: 'gpt' as never}),
    ['gatewayModel: fallback: expected a language'],
  ],
  ['tool: nothing', () => defineTool(undefined as never), ['defineTool: expected an object, got undefined']],
  ['tool: null as effect', () => tool({effect: null}), ['tool look: effect: expected "read", "local" or "external"']],
  ['tool: a name of no text', () => tool({name: true}), ['defineTool: name: expected a letter', 'got true']],
  ['tool: a symbol as name', () => tool({name: Symbol('look')}), ['name: expected a letter', 'got a symbol']],
  ['tool: a name too long', () => tool({name: 'x'.repeat(1_000_000)}), ['name: expected a letter']],
  ['tool: a number as description', () => tool({description: 42}), ['tool look: description: expected text', 'got 42']],
  ['tool: a version of no text', () => tool({version: {}}), ['tool look: version: expected text']],
  [
    'tool: an input that is none',
    () => tool({input: {orderId: 'string'}}),
    ['tool look: input: expected a Zod schema'],
  ],
  [
    'tool: a misspelt name',
    () => tool({efect: 'read'}),
    ['tool look: efect: expected no such field, did you mean "effect"?'],
  ],
  ['agent: nothing', () => defineAgent(undefined as never), ['defineAgent: expected an object, got undefined']],
  ['agent: no name', () => agent({name: null}), ['defineAgent: name: expected a letter', 'got null']],
  [
    'agent: everything wrong',
    () => agent({instructions: undefined, version: {}, summaries: 'x', budgets: 'x', policy: 'x'}),
    [
      'agent desk: version: expected text of 1 to 50 characters, got an object',
      'instructions: expected a string, got undefined',
      'summaries: expected "model" or "rules"',
      'budgets: expected an object, got a string',
      'policy: expected an object, got a string',
    ],
  ],
  ['agent: no tools', () => agent({tools: undefined}), ['agent desk: tools: expected a list, got undefined']],
  ['agent: a tool that is not defined', () => agent({tools: [{name: 'look'}]}), ['tools.0.effect: expected']],
  ['agent: a tool twice', () => agent({tools: [tool({}), tool({})]}), ['tools: two tools are named "look"']],
  [
    'agent: a document twice',
    () => agent({documents: ['draft', 'draft']}),
    ['documents: two documents are named "draft"'],
  ],
  ['agent: documents of text', () => agent({documents: 'draft'}), ['documents: expected a list, got a string']],
  [
    'agent: an endless budget',
    () => agent({budgets: {maxSteps: Number.POSITIVE_INFINITY}}),
    ['budgets.maxSteps:', 'Infinity'],
  ],
  [
    'agent: a misspelt budget',
    () => agent({budgets: {maxStep: 5}}),
    ['budgets.maxStep: expected no such field, did you mean'],
  ],
]

describe('a wrong option is refused before anything is done, by every name that is wrong', () => {
  test.each(refused)('%s', async (_, attempt, parts) => {
    const error = await (async () => attempt())().then(
      () => new Error('It was accepted.'),
      (thrown: unknown) => thrown,
    )
    if (!HoldfastError.is(error, 'misconfigured')) throw error
    for (const part of parts) expect(error.message).toContain(part)
    expect(error.message.length).toBeLessThan(2000)
  })
})

test('effect and version have defaults when they are undefined', () => {
  expect(tool({effect: undefined, version: undefined})).toMatchObject({effect: 'external', version: '1'})
})
