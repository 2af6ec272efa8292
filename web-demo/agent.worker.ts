import './no-eval.ts'
import {agentHost, commonMemoryRules, gatewayModel, ruleExtractor, serveAgent} from '../runtime/worker.ts'
import {desk, deskBefore} from './agent.ts'
import {rulesModel} from './rules-model.ts'
import {toolImplementations} from './tool-implementations.ts'

const model = gatewayModel({fallback: rulesModel()})

serveAgent(desk, {
  model,
  tools: toolImplementations,
  also: [agentHost(deskBefore, {model, tools: toolImplementations})],
  memory: {extractor: ruleExtractor(commonMemoryRules)},
})
