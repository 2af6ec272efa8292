import type {LanguageModelV3CallOptions} from '@ai-sdk/provider'
import {describe, expect, test} from 'vitest'
import {buildView} from '../../runtime/loop/prepare-view.ts'
import {promptHash} from '../../runtime/loop/prompt-hash.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {manifestsAmong, shownEvents} from '../../runtime/protocol/shown-events.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {type ScriptedStep, scriptedModel} from '../../runtime/testing.ts'
import {until} from '../support/crashable-device.ts'
import {desk as deskAgent} from '../support/desk.ts'
import {deskScenes, ofKind} from '../support/desk-scenes.ts'

const desk = deskScenes()

async function conversation(steps: ScriptedStep[]) {
  const model = scriptedModel(steps)
  return {model, scene: await desk.play(model)}
}

describe('the transcript taken for what the model saw', () => {
  test('[VIEW-2] every stored manifest gives back exactly what its model call was sent, and its hash', async () => {
    let answer: () => void = () => undefined
    const gate = new Promise<void>(resolve => {
      answer = resolve
    })
    const {model, scene} = await conversation([
      {text: 'Let me look.', calls: [{tool: 'lookupOrder', input: {orderId: 'A17'}}], until: gate},
      {calls: [{tool: 'saveNote', input: {text: 'Looked at A17.'}}]},
      {text: 'It costs 89.00.'},
      {text: 'You are welcome.'},
    ])
    await scene.session.send('What is A17?')
    await until(scene.session, () => model.calls.length === 1)
    await scene.session.send('Later: thanks.', {policy: 'queue'})
    answer()
    await until(scene.session, view => view.status === 'completed' && view.pending === 0 && model.calls.length === 4)
    const store = await openPGliteStore(desk.db, env)
    const log = await desk.log(scene)
    const steps = ofKind(log, 'step.prepared')
    expect(steps).toHaveLength(4)
    for (const [i, {data}] of steps.entries()) {
      const sent = model.calls[i] as LanguageModelV3CallOptions
      const rebuilt = buildView(deskAgent, await store.byIds(shownEvents(data.manifest, manifestsAmong(log)) ?? []))
      expect(rebuilt.prompt).toEqual(sent.prompt)
      expect(rebuilt.tools).toEqual(sent.tools)
      expect(await promptHash(rebuilt)).toBe(data.manifest.promptHash)
    }
    // What the transcript had and the model had not: the queued message, until its turn.
    const saw = model.calls.map(({prompt}) => JSON.stringify(prompt).includes('Later: thanks.'))
    expect(saw).toEqual([false, false, false, true])
    await scene.device.close()
  })

  test('[RUN-8] a call carries the whole view and no handle of the provider by which it could go on elsewhere', async () => {
    const {model, scene} = await conversation([
      {calls: [{tool: 'lookupOrder', input: {orderId: 'B22'}}]},
      {text: 'It costs 32.00.'},
    ])
    await scene.session.send('What is B22?')
    await until(scene.session, view => view.status === 'completed')
    for (const call of model.calls) {
      expect(Object.keys(call).sort()).toEqual(['abortSignal', 'prompt', 'providerOptions', 'tools'])
      // The name of the call is the device's own, for a gateway that makes it once; it says nothing of what was said before.
      expect(Object.keys(call.providerOptions ?? {})).toEqual(['holdfast'])
      expect(Object.keys(call.providerOptions?.holdfast ?? {}).sort()).toEqual([
        'attempt',
        'run',
        'session',
        'step',
        'try',
      ])
      expect(call.prompt[0]?.role).toBe('system')
    }
    await scene.device.close()
  })
})
