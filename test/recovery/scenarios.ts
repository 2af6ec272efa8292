import type {LanguageModelV3Prompt} from '@ai-sdk/provider'
import {type Agent, defineAgent, type ModelSource} from '../../runtime/loop/define.ts'
import type {Kind} from '../../runtime/protocol/event.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {fakeClock, promptModel, type Scene, type ScriptedStep, said} from '../../runtime/testing.ts'
import {approvalMs, type CrashDesk} from '../support/crash-desk.ts'
import {desk} from '../support/desk.ts'

export type CrashScenario = {
  name: string
  model: ModelSource
  play(scene: Scene, desk: CrashDesk): Promise<void>
  /** An event that its log must hold, or the scenario shows nothing. */
  shows: Kind
  agent?: Agent<typeof desk.tools>
  /** Crashed at every point in every run of the tests. */
  flagship?: true
}

const small = {tool: 'refundOrder', input: {orderId: 'B22', cents: 3200}}
const large = {tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}
const look = {tool: 'lookupOrder', input: {orderId: 'A17'}}
const note = (text: string) => ({tool: 'saveNote', input: {text}})

const isDone = ({status}: SessionView) => status === 'completed'
const waitsForApproval = ({status}: SessionView) => status === 'waiting_for_approval'
/** What came last is a result of a tool. */
const returned = (prompt: LanguageModelV3Prompt) => prompt.at(-1)?.role === 'tool'

/** First the calls, then a last word; what it was told last decides which. */
function clerk(answers: Record<string, ScriptedStep>, last: string): ModelSource {
  return promptModel(prompt => (returned(prompt) ? {text: last} : (answers[said(prompt).at(-1) ?? ''] ?? {text: last})))
}

const forgetful = defineAgent({...desk, summaries: 'rules', budgets: {viewTokens: 300}})
const long = (about: string) => `${about} ${'and so on '.repeat(40)}`

const afterExpiry = fakeClock().now() + 2 * approvalMs
const frail = frailModel()

/** Every scenario that is crashed at every write; each names only what no crash can step over. */
export const crashScenarios: CrashScenario[] = [
  {
    name: 'four calls in one breath, one of which needs an approver',
    flagship: true,
    shows: 'approval.granted',
    model: clerk({'Refund both.': {text: 'At once.', calls: [look, note('both'), small, large]}}, 'Both are done.'),
    async play(scene, desk) {
      const session = await scene.at('laptop').open()
      await session.send('Refund both.')
      await session.until(waitsForApproval)
      await scene.does('approve', () => desk.decide(scene, 'approve'))
      await session.until(isDone)
    },
  },
  {
    name: 'an approval that is refused',
    shows: 'approval.rejected',
    model: clerk({'Refund A17.': {calls: [large]}}, 'It was refused.'),
    async play(scene, desk) {
      const session = await scene.at('laptop').open()
      await session.send('Refund A17.')
      await session.until(waitsForApproval)
      await scene.does('reject', () => desk.decide(scene, 'reject'))
      await session.until(isDone)
    },
  },
  {
    name: 'an approval that nobody gives in time',
    shows: 'approval.expired',
    model: clerk({'Refund A17.': {calls: [large]}}, 'Nobody decided.'),
    async play(scene, desk) {
      const session = await scene.at('laptop').open()
      await session.send('Refund A17.')
      await session.until(waitsForApproval)
      await scene.does('wait too long', async () => scene.clock.set(afterExpiry))
      await scene.does('approve', () => desk.decide(scene, 'approve'))
      await session.until(isDone)
    },
  },
  {
    name: 'a correction while an approval waits',
    shows: 'operation.voided',
    model: clerk({'Refund A17.': {calls: [large]}, 'Only B22.': {calls: [small]}}, 'Done.'),
    async play(scene) {
      const session = await scene.at('laptop').open()
      await session.send('Refund A17.')
      await session.until(waitsForApproval)
      await session.send('Only B22.')
      await session.until(isDone)
    },
  },
  {
    name: 'a message that interrupts, and one that waits its turn',
    shows: 'operation.voided',
    model: clerk({'Refund A17.': {calls: [note('a17'), large]}, 'Wait.': {text: 'Waiting.'}}, 'Done.'),
    async play(scene) {
      const session = await scene.at('laptop').open()
      await session.send('Refund A17.')
      await session.until(waitsForApproval)
      await session.send('Then thank them.', {policy: 'queue'})
      await session.send('Wait.', {policy: 'interrupt'})
      await session.until(view => isDone(view) && view.entries.filter(({type}) => type === 'reply').length === 2)
    },
  },
  {
    name: 'a cancelled run and the next one',
    shows: 'run.cancelled',
    model: clerk({'Refund A17.': {calls: [large]}, 'Look.': {calls: [look]}}, 'Done.'),
    async play(scene) {
      const session = await scene.at('laptop').open()
      await session.send('Refund A17.')
      await session.until(waitsForApproval)
      await session.cancel('enough')
      await session.send('Look.')
      await session.until(isDone)
    },
  },
  {
    name: 'a model that fails, and a second attempt',
    shows: 'run.retried',
    model: frail.model,
    async play(scene) {
      const session = await scene.at('laptop').open()
      await scene.does('break the model', async () => frail.mend(false))
      await session.send('Refund B22.')
      await session.until(({status}) => status === 'failed_retryable')
      await scene.does('mend the model', async () => frail.mend(true))
      await session.retry()
      await session.until(isDone)
    },
  },
  {
    name: 'a tool that fails beside one that does not',
    shows: 'tool.returned',
    model: clerk({'Look.': {calls: [look, {tool: 'lookupOrder', input: {orderId: 'none'}}, note('x')]}}, 'Half of it.'),
    async play(scene) {
      const session = await scene.at('laptop').open()
      await session.send('Look.')
      await session.until(isDone)
    },
  },
  {
    name: 'a branch from the first message',
    shows: 'session.forked',
    model: clerk(
      {'Refund B22.': {calls: [small, note('refunded')]}, 'What if?': {text: 'Nothing was undone.'}},
      'Done.',
    ),
    async play(scene) {
      const session = await scene.at('laptop').open()
      await session.send('Refund B22.')
      const view = await session.until(({status, pending}) => status === 'completed' && pending === 0)
      const asked = view.entries.find(({type}) => type === 'message')?.durability
      const branch = await session.fork({after: asked?.status === 'server' ? asked.seq : 0})
      await branch.send('What if?')
      await branch.until(isDone)
    },
  },
  {
    name: 'a hand-off to another device and back',
    shows: 'custody.granted',
    model: clerk({'Refund A17.': {calls: [large]}, 'Thanks.': {text: 'Any time.'}}, 'Done.'),
    async play(scene, desk) {
      const [laptop, phone] = [scene.at('laptop'), scene.at('phone')]
      const here = await laptop.open()
      await here.send('Refund A17.')
      await here.until(view => waitsForApproval(view) && view.pending === 0)
      const there = phone.session(here.id)
      await there.until(waitsForApproval)
      await there.takeOver()
      await scene.does('approve', () => desk.decide(scene, 'approve'))
      await there.until(view => isDone(view) && view.pending === 0)
      await here.until(isDone)
      await here.takeOver()
      await here.send('Thanks.')
      await here.until(view => view.entries.filter(({type}) => type === 'reply').length === 2)
    },
  },
  {
    name: 'a document that person and agent write by turns',
    shows: 'document.updated',
    model: clerk({'Draft it.': {calls: [note('Dear Lena, sorry.')]}}, 'Drafted.'),
    async play(scene) {
      const session = await scene.at('laptop').open()
      await session.write('draft', 'Dear Lena,')
      await session.send('Draft it.')
      await session.until(isDone)
      await session.write('draft', 'Dear Lena, so sorry.')
      await session.write('plan', 'Send it.')
    },
  },
  {
    name: 'work done offline that syncs later',
    shows: 'operation.executed',
    model: clerk({'Note it.': {calls: [note('offline')]}, 'Refund B22.': {calls: [small]}}, 'Done.'),
    async play(scene) {
      const laptop = scene.at('laptop')
      const session = await laptop.open()
      await laptop.setOnline(false)
      await session.send('Note it.')
      await session.until(isDone)
      await session.send('Refund B22.')
      await session.until(({status}) => status === 'waiting_for_tool')
      await laptop.setOnline(true)
      await session.until(isDone)
    },
  },
  {
    name: 'a conversation whose beginning is summarised',
    shows: 'view.compacted',
    agent: forgetful,
    model: clerk({}, long('Yes,')),
    async play(scene) {
      const session = await scene.at('laptop').open()
      for (const [i, about] of ['The kettle', 'The lamp', 'The chair'].entries()) {
        await session.send(long(about))
        await session.until(view => isDone(view) && view.entries.filter(({type}) => type === 'reply').length === i + 1)
      }
    },
  },
]

/** Overloaded until the person of the scenario has it mended. */
function frailModel(): {model: ModelSource; mend(healthy: boolean): void} {
  let healthy = false
  const model = promptModel(prompt => {
    if (!healthy) return {error: new Error('overloaded')}
    return returned(prompt) ? {text: 'Refunded.'} : {calls: [small]}
  })
  return {
    model,
    mend: next => {
      healthy = next
    },
  }
}
