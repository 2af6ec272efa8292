import fc from 'fast-check'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import {canonicalJson} from '../../runtime/protocol/canonical-json.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import {isVisible, textStart, wellFormed} from '../../runtime/protocol/text.ts'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {openDesk} from '../support/two-devices.ts'

/** Every kind of text that has broken something somewhere: in UTF-8, in Postgres, in a canonical form, on a wire. */
const awkward: [string, string][] = [
  ['a lone high surrogate', 'x\ud83d'],
  ['a lone low surrogate', '\udc4dx'],
  ['swapped surrogates', '\udc4d\ud83d'],
  ['NUL', 'a\0b'],
  ['a noncharacter', 'a\uffff\ufdd0b'],
  ['a byte order mark', '\ufeffa'],
  ['line separators', 'a\u2028\u2029\r\nb'],
  ['combining and joined characters', 'e\u0301 👩‍👩‍👧'],
  ['a key of objects', '__proto__'],
]

const echo = defineTool({name: 'echo', description: 'x', effect: 'read', input: z.strictObject({text: z.string()})})
const fail = defineTool({name: 'fail', description: 'x', effect: 'read', input: z.strictObject({text: z.string()})})
const keep = defineTool({name: 'keep', description: 'x', effect: 'local', input: z.strictObject({text: z.string()})})
const agent = defineAgent({
  name: 'desk',
  version: '1',
  instructions: 'x',
  tools: [echo, fail, keep],
  documents: ['draft'],
  memory: {name: 'all', maxItems: 5},
  budgets: {maxSteps: 50, maxToolCalls: 500},
})

let steps: ScriptedStep[]
let model: ReturnType<typeof scriptedModel>
let runtime: NodeRuntime
beforeAll(async () => {
  steps = []
  model = scriptedModel(steps)
  runtime = await openRuntime({
    agent,
    model,
    dataDir: 'memory://',
    tools: {
      echo: ({text}) => ({text, [`k${text}`]: [text]}),
      fail: ({text}) => {
        throw new Error(`failed: ${text}`)
      },
      keep: async ({text}, {slots, document}) => {
        slots.patch({[`k${text}`]: text})
        await document.write('draft', text)
        return text
      },
    },
  })
})
afterAll(() => runtime.close())

/** A run in which the text stands everywhere that a person, a model or a tool can put it. */
async function runWith(text: string) {
  const calls = ['echo', 'fail', 'keep'].map((tool, i) => ({tool, input: {text}, id: `${i}${text}`}))
  steps.push(
    {text: `said ${text}`, calls: [...calls, {tool: `no ${text}`, input: {[text]: text}}]},
    {text: `end ${text}`},
  )
  const session = await runtime.openSession({agent: 'desk', title: `t${text}`})
  await session.send(`m${text}`)
  const view = await session.settled()
  return {session, view}
}

describe('text of any code points', () => {
  test.each(awkward)('[LOG-5] %s goes through a run and comes back exactly', async (_, text) => {
    const {session, view} = await runWith(text)
    expect(view.status).toBe('completed')
    expect(view.storageFault).toBeNull()
    const entries = JSON.stringify(view.entries)
    for (const said of [`m${text}`, `said ${text}`, `end ${text}`])
      expect(entries).toContain(JSON.stringify(said).slice(1, -1))
    const echoed = view.entries.find(entry => entry.type === 'tool' && entry.tool === 'echo')
    expect(echoed?.type === 'tool' && echoed.result?.output).toEqual({text, [`k${text}`]: [text]})
    expect((await session.passport())?.status).toBe('completed')
  })

  test.each(awkward)('[VIEW-2] with %s a prompt is well-formed, and can be built again exactly', async (_, text) => {
    const {view} = await runWith(text)
    for (const {prompt, tools} of model.calls.slice(-2)) {
      expect(wellFormed(JSON.stringify({prompt, tools}))).toBe(JSON.stringify({prompt, tools}))
      expect(/\\ud[89a-f]/i.test(JSON.stringify(prompt).replaceAll('\\\\', ''))).toBe(false)
    }
    const {run} = view.passport!
    const file = await runtime.exportRun(run)
    const prepared = file!.events.filter(event => event.kind === 'step.prepared')
    expect(prepared.length).toBe(2)
    for (const {step} of prepared) {
      const seen = await runtime.viewOf(run, step!)
      expect(seen).toMatchObject({exact: true, lacking: []})
    }
  })

  test('[LOG-5] a run ends well with any text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({unit: 'binary', maxLength: 12}),
        fc.array(fc.integer({min: 0, max: 0xffff}), {maxLength: 6}),
        async (a, units) => {
          const {view} = await runWith(a + String.fromCharCode(...units))
          expect(view.status).toBe('completed')
        },
      ),
      {numRuns: 25, seed: 11},
    )
  })

  test('[LOG-5] two devices and the server agree on any text', async () => {
    const shop: TestServer = await openTestServer()
    const text = awkward.map(([, each]) => each).join(' ')
    const a = await openDesk(shop, 'maya', [{text: `end ${text}`}, {text: `again ${text}`}])
    await a.session.send(`m${text}`)
    expect((await a.session.settled()).status).toBe('completed')
    const b = await openDesk(shop, 'maya', [{text: 'b'}], a)
    const texts = () => b.session.settled().then(view => JSON.stringify(view.entries))
    await expect.poll(texts).toContain(JSON.stringify(`end ${text}`).slice(1, -1))
    await a.runtime.close()
    await b.runtime.close()
    await shop.close()
  })
})

describe('a message', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['the empty text', ''],
    ['white space', ' \n\t\u3000'],
    ['NUL alone', '\0'],
    ['a zero-width space alone', '\u200b'],
    ['joiners, marks of direction and a byte order mark', '\u200d\u2060\u202e\ufeff\u00ad'],
    ['fillers that look like nothing', '\u3164\u2800\u115f'],
  ])('of %s is refused, and says what was expected', async (_, text) => {
    const session = await runtime.openSession({agent: 'desk'})
    const error = await session.send(text as string).catch((caught: unknown) => caught)
    expect(HoldfastError.is(error, 'bad_input')).toBe(true)
    expect((error as HoldfastError).message).toContain('text: expected a message with at least one visible character')
    expect((await session.settled()).entries).toEqual([])
  })
})

describe('helpers', () => {
  test('[LOG-5] the canonical text is that of RFC 8785, and knows lone surrogates', () => {
    const value: Json = {
      '€': 1,
      '\r': 2,
      ﬁ: 3,
      '1': 4,
      '😂': 5,
      ö: 6,
      a: [1e21, 0.000001, 1e-7, null, true, {b: '\u000f\n'}],
    }
    expect(canonicalJson(value)).toBe(
      '{"\\r":2,"1":4,"a":[1e+21,0.000001,1e-7,null,true,{"b":"\\u000f\\n"}],"ö":6,"€":1,"😂":5,"ﬁ":3}',
    )
    expect(canonicalJson({b: undefined, a: '\ud83d'})).toBe('{"a":"\\ud83d"}')
  })

  test('[LOG-5] the canonical text parses to the value that it is of, whatever the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({stringUnit: 'binary'}), value => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
      {seed: 3},
    )
  })

  test('a text is cut beside a character, never through it', () => {
    expect(textStart('a👍b', 2)).toBe('a')
    expect(textStart('a👍b', 3)).toBe('a👍')
    expect(isVisible('\ud83d')).toBe(true)
  })
})
