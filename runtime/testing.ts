export {type ScriptedModel, type ScriptedStep, scriptedModel} from './testing/scripted-model.ts'
