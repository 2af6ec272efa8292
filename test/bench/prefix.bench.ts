import {test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {buildView} from '../../runtime/loop/prepare-view.ts'
import {nothingBeside} from '../../runtime/loop/view-sections.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {LoggedEvent} from '../../runtime/protocol/event.ts'
import {viewBuilder} from '../../runtime/protocol/manifest.ts'
import {scribe} from '../support/events.ts'
import {reportShare} from './support/report.ts'

const look = defineTool({name: 'look', description: 'Looks.', effect: 'read', input: z.strictObject({id: z.string()})})
const agent = defineAgent({name: 'desk', version: '1.0.0', instructions: 'Be brief.', tools: [look]})
const usage = {inputTokens: 1, outputTokens: 1}
/** The construction that put the parts that change before the turns. */
const changingFirst = 2

const event = (kind: 'message.posted' | 'model.replied' | 'tool.returned', data: object) =>
  ({...scribe().event(kind), id: env.id('event'), data}) as LoggedEvent

/** The share of each prompt that is also the start of the next one: the mean of 24 steps. */
function stableShare(builder: number): number {
  const events = [event('message.posted', {text: 'Refund order A17, it arrived broken. '.repeat(10)})]
  const prompts: string[] = []
  for (let step = 0; step < 24; step++) {
    const slots = {step, done: step % 3}
    const documents = [{name: 'plan', text: `${step} steps done. `.repeat(8)}]
    const beside = {...nothingBeside, viewTokens: 32_000, slots, documents}
    prompts.push(JSON.stringify(buildView(agent, events, beside, builder).prompt))
    const call = env.id('call')
    const part = {type: 'call', call, providerCall: `p${step}`, tool: 'look', input: {id: 'x'}}
    events.push(event('model.replied', {content: [part], finish: 'tool-calls', usage}))
    events.push(event('tool.returned', {call, outcome: 'ok', output: {rows: `row ${step} `.repeat(60)}}))
  }
  const shares = prompts.slice(1).map((next, i) => commonStart(prompts[i]!, next) / prompts[i]!.length)
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

function commonStart(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return at
}

test('the share of a prompt that stays its start over 24 steps, against the parts that change in front', () => {
  const yardstick = {name: 'changing parts first', share: stableShare(changingFirst)}
  reportShare('prompt that stays a prefix', yardstick, stableShare(viewBuilder), '≥ 90 %')
})
