import {describe, expect, test} from 'vitest'
import type {SaidInRun, SaidLine} from '../../runtime/memory/extractor.ts'
import {commonMemoryRules, modelExtractor, ruleExtractor} from '../../runtime/memory/public.ts'
import {saidInRun} from '../../runtime/memory/said-in-run.ts'
import type {LoggedEvent} from '../../runtime/protocol/event.ts'
import {isRecord, type MemoryRecord, proposedMemory} from '../../runtime/protocol/memory.ts'
import type {Durability} from '../../runtime/protocol/transcript.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import {proposalOf} from './support/teller.ts'

const session = env.id('session')
const host = {gateway: {models: async () => [], open: () => scriptedModel([])}, signal: new AbortController().signal}
const line = (text: string, from: SaidLine['from'] = 'person'): SaidLine => ({
  event: env.id('event'),
  session,
  from,
  text,
  at: 1000,
})
const said = (lines: SaidLine[], known: MemoryRecord[] = []): SaidInRun => ({session, run: env.id('run'), lines, known})

describe('rules', () => {
  const rules = ruleExtractor([
    ...commonMemoryRules,
    {
      says: /^i am away until (?<when>.+)$/i,
      kind: 'episode',
      text: match => `Away until ${match.groups?.when}.`,
      lastsMs: 60,
    },
  ])

  test('[MEM-2] the same words give the same drafts, each with the message that says so', async () => {
    const lines = [
      line('Hello! Please call me Mia. I prefer the late train. Do you remember that?'),
      line('I prefer tea.', 'agent'),
      line('Always write dates out\nI am away until Friday.'),
    ]
    const drafts = await rules.extract(said(lines), host)
    expect(drafts).toEqual(await rules.extract(said(lines), host))
    expect(drafts.map(({text, key, kind, events, validUntil}) => [text, key, kind, events[0], validUntil])).toEqual([
      ['Wants to be called Mia.', 'preference/name', 'preference', lines[0]?.event, undefined],
      ['Prefers the late train.', undefined, 'preference', lines[0]?.event, undefined],
      ['Always write dates out.', undefined, 'instruction', lines[2]?.event, undefined],
      ['Away until Friday.', undefined, 'episode', lines[2]?.event, 1060],
    ])
  })
})

describe('a model', () => {
  const lines = [line('My shoe size is 42 now.'), line('Noted.', 'agent')]
  const known = [proposedMemory(proposalOf({session, event: env.id('event')}, {text: 'Shoe size 41.'}), 1)]
  const answering = (text: string) => {
    const model = scriptedModel([{text}])
    return {model, drafts: () => modelExtractor(model).extract(said(lines, known.filter(isRecord)), host)}
  }
  const good = {text: 'Shoe size 42.', key: 'fact/shoe-size', kind: 'fact', lines: [1], confidence: 0.8, replaces: 1}

  test('[MEM-2] its proposals name the events of the lines they rest on, and what they make untrue', async () => {
    const {model, drafts} = answering(`Sure:\n\`\`\`json\n${JSON.stringify({memories: [good]})}\n\`\`\``)
    expect(await drafts()).toEqual([
      {
        text: 'Shoe size 42.',
        key: 'fact/shoe-size',
        kind: 'fact',
        confidence: 0.8,
        events: [lines[0]?.event],
        supersedes: known[0]?.id,
      },
    ])
    const sent = JSON.stringify(model.calls[0]?.prompt)
    expect(sent).toContain('My shoe size is 42 now.')
    expect(sent).toContain('Shoe size 41.')
  })

  test('[MEM-2] what rests on no line of the conversation, or does not fit, is left out', async () => {
    const bad = [{...good, lines: [9]}, {...good, lines: []}, {...good, confidence: 7}, {...good, text: ''}, 'x']
    expect(await answering(JSON.stringify({memories: [...bad, good]})).drafts()).toHaveLength(1)
  })

  test.each(['I found nothing.', '{"memories": 3}', '{"memories": ['])(
    '[MEM-2] an answer that is no list (%s) is a failure that does not pass',
    async text => {
      await expect(answering(text).drafts()).rejects.toMatchObject({code: 'model_failed', details: {retryable: false}})
    },
  )

  test('[MEM-4] half an answer is a failure that may pass', async () => {
    const model = scriptedModel([{text: '{"memories": []}', breakOff: true}])
    await expect(modelExtractor(model).extract(said(lines), host)).rejects.toMatchObject({details: {retryable: true}})
  })

  test('a run in which no person said anything asks no model', async () => {
    const model = scriptedModel([])
    expect(await modelExtractor(model).extract(said([line('Hi.', 'agent')]), host)).toEqual([])
  })
})

describe('what was said in a run', () => {
  const [first, second] = [env.id('run'), env.id('run')]
  const event = (kind: string, data: object, run?: string, durability: Durability = {status: 'device'}) => ({
    event: {id: env.id('event'), session, kind, data, at: 1, ...(run && {run})} as unknown as LoggedEvent,
    durability,
  })
  const post = (text: string, durability?: Durability) => event('message.posted', {text}, undefined, durability)
  const reply = (text: string, run: string) =>
    event(
      'model.replied',
      {
        content: [
          {type: 'reasoning', text: 'hidden'},
          {type: 'text', text},
        ],
      },
      run,
    )

  test('[WRK-4] its own messages and replies, and nothing of other runs, documents, tools or refused events', () => {
    const log = [
      post('one'),
      event('run.started', {}, first),
      reply('first', first),
      event('run.completed', {}, first),
      post('two'),
      post('refused', {status: 'rejected', reason: 'late'}),
      event('run.started', {}, second),
      event('document.updated', {document: 'draft', update: 'secret'}),
      event('tool.returned', {output: 'secret'}, second),
      post('and three with Bearer abcdefghijklmnop1234'),
      reply('second', second),
      event('run.completed', {}, second),
      post('four'),
    ]
    const texts = (run: typeof first) => saidInRun(log, run).map(({from, text}) => `${from}: ${text}`)
    expect(texts(first)).toEqual(['person: one', 'agent: first'])
    expect(texts(second)).toEqual(['person: two', 'person: and three with Bearer [removed]', 'agent: second'])
  })
})
