import type {NodeRuntime} from '../../../runtime/node.ts'
import {type ScriptedStep, scriptedModel} from '../../../runtime/testing.ts'

export const person = {tenant: 'shop', subject: 'maya'}
export const words = {
  waiting: 'Order A17 arrived broken.',
  working: 'Write down that A17 is broken.',
  late: 'And hurry.',
}

/** What its runtimes offer in every build. */
type Sessions = Pick<NodeRuntime, 'openSession' | 'setOnline'>

/** The model of a device that is closed while its second run waits for an answer. */
export function sceneModel() {
  const steps: ScriptedStep[] = [
    {text: 'One moment.', calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]},
    {text: 'I write it down.', calls: [{tool: 'saveNote', input: {text: 'A17 is broken'}}]},
    {until: new Promise(() => undefined)},
  ]
  return scriptedModel(steps)
}

/** An approval that is open, then offline: a second session with a run that is not finished and words after it. */
export async function playScene(runtime: Sessions, model: ReturnType<typeof sceneModel>) {
  const waiting = await runtime.openSession({agent: 'desk'})
  await waiting.send(words.waiting)
  const asked = await waiting.settled()
  if (asked.status !== 'waiting_for_approval') throw new Error(`expected an open approval, got ${asked.status}`)
  await runtime.setOnline(false)
  const working = await runtime.openSession({agent: 'desk'})
  await working.send(words.working)
  while (model.calls.length < 3) await new Promise(resolve => setTimeout(resolve, 20))
  await waiting.send(words.late)
  return {waiting: waiting.id, working: working.id}
}
