import './no-eval.ts'
import {commonMemoryRules, gatewayModel, ruleExtractor, serveAgent} from '../runtime/worker.ts'
import {desk} from './agent.ts'
import {rulesModel} from './rules-model.ts'
import {toolImplementations} from './tool-implementations.ts'

serveAgent(desk, {
  model: gatewayModel({fallback: rulesModel()}),
  tools: toolImplementations,
  memory: {extractor: ruleExtractor(commonMemoryRules)},
})
