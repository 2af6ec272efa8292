import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {jsonBytes} from '../../runtime/protocol/json.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {type LocalDevice, localSession, openLocalDevice} from '../support/local-session.ts'
import {
  asV3,
  call,
  counted,
  ended,
  type Streamed,
  streamingModel,
  uncounted,
  words,
} from '../support/streaming-model.ts'

let device: LocalDevice
beforeAll(async () => {
  device = await openLocalDevice()
})
afterAll(() => device.close())

const look = defineTool({name: 'look', description: 'x', effect: 'read', input: z.strictObject({id: z.string()})})
const agentWith = (budgets: object, tools = [look]) =>
  defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools, budgets})

async function play(answers: readonly Streamed[], budgets = {}, v3 = false) {
  const model = streamingModel((_, n) => answers[n - 1] ?? [...words('Done.'), ended()])
  const desk = await localSession(device, v3 ? asV3(model) : model, {
    agent: agentWith(budgets),
    tools: {look: ({id}: {id: string}) => ({id})},
  })
  await desk.session.send('Go.')
  const view = await desk.session.settled()
  await desk.close()
  return {...desk, model, view}
}

const notices = (view: SessionView) =>
  view.entries.flatMap(entry => (entry.type === 'notice' ? [[entry.about, entry.text] as const] : []))
const replies = (view: SessionView) => view.entries.flatMap(entry => (entry.type === 'reply' ? [entry.text] : []))
const flaws = (view: SessionView) => notices(view).flatMap(([about, text]) => (about === 'flawed_reply' ? [text] : []))

describe('a reply that is not whole', () => {
  test.each<[string, Streamed, string]>([
    ['only a finish at the length limit', [ended('length')], 'output limit'],
    ['half a text at the length limit', [...words('The first hal'), ended('length')], 'was cut'],
    ['nothing at all', [ended('stop')], 'empty answer'],
    ['white space', [...words(' \n'), ended('stop')], 'empty answer'],
    [
      'reasoning alone',
      [{type: 'reasoning-start', id: 'r'}, {type: 'reasoning-delta', id: 'r', delta: 'hm'}, ended('stop')],
      'reasoned and gave no answer',
    ],
  ])('[RUN-1] %s is shown as such, and the model is asked to go on', async (_, first, said) => {
    const {view, model} = await play([first])
    expect(flaws(view)).toEqual([expect.stringContaining(said)])
    expect(replies(view).at(-1)).toBe('Done.')
    expect(view.status).toBe('completed')
    expect(model.calls).toHaveLength(2)
  })

  test('[BUD-1] a model that never gives an answer is asked as often as declared, and the run says so', async () => {
    const {view, model} = await play(Array(9).fill([ended('stop')]), {maxContinuations: 1})
    expect(model.calls).toHaveLength(2)
    expect(view.status).toBe('failed_retryable')
    expect(notices(view).at(-1)).toEqual(['failed', expect.stringContaining('2 times in a row')])
  })

  test('[BUD-1] a reply that stays cut ends the run with what there is', async () => {
    const {view, events} = await play(Array(9).fill([...words('half'), ended('length')]), {maxContinuations: 0})
    expect(view.status).toBe('completed')
    expect(flaws(view)).toHaveLength(1)
    expect((await events()).at(-1)).toMatchObject({kind: 'run.completed', data: {outcome: 'partial'}})
  })

  test.each<[string, Streamed]>([
    ['half a text', [...words('I would'), ended('content-filter')]],
    ['no text', [ended('content-filter')]],
  ])('[RUN-1] a content filter with %s is told, and not asked again', async (_, first) => {
    const {view, model, events} = await play([first])
    expect(flaws(view)).toEqual([expect.stringContaining('content filter')])
    expect(model.calls).toHaveLength(1)
    expect((await events()).at(-1)).toMatchObject({kind: 'run.completed', data: {outcome: 'partial'}})
  })
})

describe('a stream that is cut', () => {
  const half = words('Your order is on its')
  test.each<[string, Streamed, boolean]>([
    ['V4 says interrupted', [...half, ended('interrupted', uncounted)], false],
    ['V3 says other, without a count', [...half, ended('other', uncounted)], true],
    ['it ends without a finish', half, false],
    ['it finishes with an error', [...half, ended('error', uncounted)], false],
    ['it breaks', {breaksWith: new TypeError('terminated')}, false],
  ])('[LOG-6] %s: nothing of it is taken for a reply, and the call is made again', async (_, first, v3) => {
    const {view, model} = await play([first], {}, v3)
    expect(replies(view)).toEqual(['Done.'])
    expect(model.calls).toHaveLength(2)
    expect(view.status).toBe('completed')
  })

  test('[LOG-6] other with a count is a provider’s own reason, and a reply', async () => {
    const {view, model} = await play([[...words('Fine.'), ended('other', counted(), 'pause_turn')]])
    expect(replies(view)).toEqual(['Fine.'])
    expect(model.calls).toHaveLength(1)
  })
})

describe('time', () => {
  const slowly = (n: number, ms: number): Streamed => [
    {type: 'text-start', id: 't'},
    ...Array.from({length: n}, (_, i) => [{type: 'text-delta', id: 't', delta: `${i} `} as const]).flat(),
    new Promise(resolve => setTimeout(resolve, ms)),
    {type: 'text-end', id: 't'},
    ended(),
  ]

  test('[BUD-1] a steady stream that takes longer than its bound of silence is not stopped', async () => {
    const model = streamingModel(() => [])
    const steady = {
      ...model,
      doStream: async () => ({
        stream: new ReadableStream({
          async start(out) {
            model.calls.push({prompt: []})
            out.enqueue({type: 'text-start', id: 't'})
            for (let i = 0; i < 12; i++) {
              await new Promise(resolve => setTimeout(resolve, 250))
              out.enqueue({type: 'text-delta', id: 't', delta: `${i} `})
            }
            out.enqueue(ended())
            out.close()
          },
        }),
      }),
    }
    const desk = await localSession(device, steady as typeof model, {agent: agentWith({modelCallMs: 2000})})
    await desk.session.send('Go.')
    const view = await desk.session.settled()
    expect(view.status).toBe('completed')
    expect(replies(view)[0]).toContain('11')
    expect(model.calls).toHaveLength(1)
    await desk.close()
  })

  test('[BUD-1] silence is a failure that is tried again', async () => {
    const never = new Promise(() => undefined)
    const {view, model} = await play([[{type: 'text-start', id: 't'}, never], [never]], {modelCallMs: 300})
    expect(view.status).toBe('completed')
    expect(model.calls).toHaveLength(3)
  })

  test('[BUD-1] a call at its total time keeps what it said, marked as cut, and is not paid again', async () => {
    const forever = slowly(3, 3_600_000)
    const {view, model} = await play([forever], {modelTotalMs: 500, maxContinuations: 0})
    expect(replies(view)).toEqual(['0 1 2 '])
    expect(flaws(view)).toEqual([expect.stringContaining('time limit')])
    expect(model.calls).toHaveLength(1)
  })
})

describe('a reply that is too large', () => {
  const huge = 'ab ⟨语言⟩ '.repeat(60_000)
  test.each<[string, Streamed]>([
    [
      'reasoning',
      [{type: 'reasoning-start', id: 'r'}, {type: 'reasoning-delta', id: 'r', delta: huge}, ...words('Yes.'), ended()],
    ],
    [
      'metadata',
      [{...words('Yes.')[0], providerMetadata: {p: {blob: huge}}} as never, ...words('Yes.').slice(1), ended()],
    ],
    [
      'sources',
      [
        ...words('Yes.'),
        ...Array.from(
          {length: 900},
          (_, i) =>
            ({type: 'source', sourceType: 'url', id: `${i}`, url: `https://example.test/${'x'.repeat(400)}`}) as const,
        ),
        ended(),
      ],
    ],
  ])('[LOG-5] with too much %s it is kept, cut visibly, and paid once', async (_, first) => {
    const {view, model, events} = await play([first])
    expect(model.calls).toHaveLength(1)
    expect(view.status).toBe('completed')
    expect(flaws(view)).toEqual([expect.stringContaining('longer than can be kept')])
    const reply = (await events()).find(({kind}) => kind === 'model.replied')
    expect(jsonBytes(reply)).toBeLessThanOrEqual(limits.eventBytes)
    expect(replies(view)[0]).not.toBe('')
  })

  test('[LOG-6] nine hundred pieces of one text are one text', async () => {
    const pieces = Array.from({length: 900}, (_, i) => words(`${i} `, `t${i}`)).flat()
    const {view, model} = await play([[...pieces, ended()]])
    expect(model.calls).toHaveLength(1)
    expect(flaws(view)).toEqual([])
    expect(replies(view)[0]).toContain('898 899')
  })

  test('[OP-7] the input of a call that is too large is not run; the model is told and goes on', async () => {
    const {view, model} = await play([[call('look', {id: huge}), ended('tool-calls')]])
    expect(model.calls).toHaveLength(2)
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('too large')
    expect(view.status).toBe('completed')
  })
})

describe('a prompt that is too long for the model', () => {
  const overflow = (counted: number) =>
    Object.assign(new Error(`prompt is too long: ${counted} tokens > 4000 maximum`), {
      statusCode: 400,
      isRetryable: false,
    })
  /** Counts four characters as a token and refuses over 4,000, as a provider does whose window is smaller than the pin. */
  const small = (inStream: boolean) =>
    streamingModel(({prompt}) => {
      const tokens = Math.ceil(JSON.stringify(prompt).length / 4)
      if (tokens <= 4000) return [...words(`Seen ${tokens}.`), ended('stop', counted(tokens))]
      return inStream ? [{type: 'error', error: overflow(tokens)}] : {throws: overflow(tokens)}
    })

  test.each([[false], [true]])(
    '[VIEW-4] the view is made smaller and the run goes on (in the stream: %s)',
    async inStream => {
      const model = small(inStream)
      const desk = await localSession(device, model)
      for (let i = 0; i < 5; i++) {
        await desk.session.send(`${i}: ${'order '.repeat(1000)}`)
        expect((await desk.session.settled()).status).toBe('completed')
      }
      const view = await desk.session.settled()
      const refused = (await desk.events()).filter(({kind}) => kind === 'view.refused')
      // What was learned holds for later messages too.
      expect(refused.length).toBeGreaterThan(0)
      expect(refused.length).toBeLessThanOrEqual(3)
      expect(notices(view).map(([about]) => about)).toContain('narrowed')
      await desk.close()
    },
  )

  test('[VIEW-4] a model that refuses every view ends the run in words that lead on, after a bounded number of calls', async () => {
    const model = streamingModel(() => ({throws: overflow(9000)}))
    const desk = await localSession(device, model)
    await desk.session.send('order '.repeat(2000))
    const view = await desk.session.settled()
    expect(view.status).toBe('failed_final')
    expect(notices(view).at(-1)?.[1]).toContain('Use a model with a larger limit')
    expect(model.calls.length).toBeLessThan(12)
    await desk.close()
  })
})
