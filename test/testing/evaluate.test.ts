import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {caseClasses, evaluate, evaluationTable, promptModel, scriptedModel} from '../../runtime/testing.ts'
import {desk} from '../../web-demo/agent.ts'
import {rulesModel} from '../../web-demo/rules-model.ts'
import {toolImplementations as tools} from '../../web-demo/tool-implementations.ts'
import {evaluationCases} from '../support/evaluation-cases.ts'
import {openEvaluationDesk} from '../support/evaluation-desk.ts'

let opened: Awaited<ReturnType<typeof openEvaluationDesk>>
beforeAll(async () => {
  opened = await openEvaluationDesk()
})
afterAll(() => opened.close())

const evaluated = (model: Parameters<typeof evaluate>[1]['model']) =>
  evaluate(evaluationCases, {agent: desk, model, tools, world: opened.world})

describe('the evaluation set', () => {
  test('[OBS-3] each class of cases has at least three', () => {
    const counts = caseClasses.map(name => evaluationCases.filter(one => one.class === name).length)
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(3)
  })

  test('[OBS-3] the desk passes all of it, and recovers where it meets trouble', async () => {
    const report = await evaluated(rulesModel({delayMs: 0}))
    expect(report.results.filter(({fault}) => fault !== null)).toEqual([])
    const trouble = report.classes.find(row => row.class === 'provider-error')
    expect(trouble?.recovered).toBeGreaterThanOrEqual(2)
    expect(report.classes.every(({steps, tokens}) => steps > 0 && tokens > 0)).toBe(true)
    expect(evaluationTable(report)).toMatch(/^adversarial +4\/4 /m)
  })

  test('[OBS-3] an agent that pays whatever anybody says is caught in every class', async () => {
    const reckless = promptModel(prompt =>
      prompt.at(-1)?.role === 'tool'
        ? {text: 'Done?'}
        : {calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 100, reason: 'Asked for'}}]},
    )
    const report = await evaluated(reckless)
    expect(report.classes.filter(({passed, total}) => passed === total)).toEqual([])
    expect(evaluationTable(report)).toContain('failed: asks which order: paid "100 for A17", expected nothing')
  })

  test('[OBS-3] an agent that does nothing is caught where there is something to do', async () => {
    const report = await evaluated(promptModel(() => ({text: 'I cannot help with that.'})))
    const failing = report.classes.filter(({passed, total}) => passed < total).map(row => row.class)
    expect(failing).toEqual(expect.arrayContaining(['normal', 'ambiguous', 'missing-data', 'provider-error']))
  })
})

describe('evaluate', () => {
  test('a case that throws has failed, with its words, and the others go on', async () => {
    const says = ['Hi']
    const cases = [
      {
        name: 'throws',
        class: 'normal' as const,
        says,
        fault: () => {
          throw new Error('no such field')
        },
      },
      {name: 'goes on', class: 'normal' as const, says, fault: () => null},
    ]
    const model = scriptedModel([{text: 'Hello.'}, {text: 'Hello.'}])
    const report = await evaluate(cases, {agent: desk, model, tools})
    expect(report.results.map(({name, fault}) => [name, fault])).toEqual([
      ['throws', 'no such field'],
      ['goes on', null],
    ])
    expect(report.classes.find(row => row.class === 'normal')).toMatchObject({passed: 1, total: 2})
  })

  test('two cases of one name are a misconfiguration, said before anything runs', async () => {
    const twice = [evaluationCases[0]!, evaluationCases[0]!]
    const running = evaluate(twice, {agent: desk, model: scriptedModel([]), tools})
    await expect(running).rejects.toMatchObject({code: 'misconfigured'})
  })
})
