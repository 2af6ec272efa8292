import type {ModelSource} from '../../runtime/loop/define.ts'
import {type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'
import {until} from './crashable-device.ts'
import {desk, deskTools, type TestServer} from './desk.ts'

export type Desk = {
  model: ReturnType<typeof scriptedModel>
  runtime: NodeRuntime
  session: Session
  /** What its model is yet to say; a test may add to it. */
  steps: ScriptedStep[]
  online(on: boolean): Promise<void>
}

/** One device of one person over the real server, its model scripted. */
export async function openRuntimeOf(
  shop: TestServer,
  subject: string,
  model: ModelSource,
  tools: typeof deskTools = deskTools,
): Promise<NodeRuntime> {
  const sync = {link: await shop.link(subject), token: await shop.token(subject)}
  return await openRuntime({agent: desk, model, tools, dataDir: 'memory://', sync, retryDelayMs: 1})
}

/** A device that starts a session, or another of the same person that has it too. */
export async function openDesk(
  shop: TestServer,
  subject: string,
  steps: ScriptedStep[],
  joins?: Desk,
  tools?: typeof deskTools,
): Promise<Desk> {
  const model = scriptedModel(steps)
  const runtime = await openRuntimeOf(shop, subject, model, tools)
  const session = joins ? await joined(runtime, joins) : await runtime.openSession({agent: 'desk'})
  const online = async (on: boolean) => {
    await runtime.setOnline(on)
    if (on) await connected(runtime)
  }
  return {model, runtime, session, steps, online}
}

async function joined(runtime: NodeRuntime, {session: {id}}: Desk): Promise<Session> {
  await new Promise<void>(resolve => {
    const stop = runtime.subscribeSessions(list => {
      if (!list.some(item => item.id === id)) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
  const session = await runtime.openSession({session: id})
  await until(session, view => view.custody !== 'nobody')
  return session
}

function connected(runtime: NodeRuntime): Promise<void> {
  return new Promise(resolve => {
    const stop = runtime.subscribeConnection(({state}) => {
      if (state !== 'live') return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}
