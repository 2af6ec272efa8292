import {expect, test} from 'vitest'
import {evaluate, evaluationTable} from '../../runtime/testing.ts'
import {desk} from '../../web-demo/agent.ts'
import {rulesModel} from '../../web-demo/rules-model.ts'
import {gatewayModels, modelSettings} from '../../web-demo/server/gateway-models.ts'
import {toolImplementations as tools} from '../../web-demo/tool-implementations.ts'
import {evaluationCases} from '../support/evaluation-cases.ts'
import {openEvaluationDesk} from '../support/evaluation-desk.ts'

/** `npm run bench -- evaluation`, of the model that the three variables name, else of the desk's own rules. */
test('the desk through its evaluation set', async () => {
  const settings = modelSettings(process.env)
  const own = settings && (await gatewayModels(settings))[settings.model]
  const model = own && 'model' in own ? own.model : own
  const opened = await openEvaluationDesk()
  try {
    const world = opened.world
    const report = await evaluate(evaluationCases, {
      agent: desk,
      model: model ?? rulesModel({delayMs: 0}),
      tools,
      world,
    })
    console.log(`${model ? model.modelId : 'rules'}\n${evaluationTable(report)}`)
    // A language model may miss some; the rules know no excuse.
    if (!model) expect(report.results.filter(({fault}) => fault !== null)).toEqual([])
    expect(report.results).toHaveLength(evaluationCases.length)
  } finally {
    await opened.close()
  }
})
