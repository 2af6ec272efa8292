export type * from './public-types.ts'
export {type CuttableLink, type HttpLinkOptions, httpLink} from './sync/http-link.ts'
export {
  type CrashFailure,
  type CrashReport,
  type CrashTest,
  crashEverywhere,
} from './testing/crash-everywhere.ts'
export {Crash, CrashPoints, type MortalProcess} from './testing/crash-points.ts'
export type {CrashWorld} from './testing/crash-run.ts'
export {crashableLink} from './testing/crashable-link.ts'
export {crashableStore} from './testing/crashable-store.ts'
export {
  type CaseClass,
  type CaseEnd,
  type CaseResult,
  type CaseWorld,
  caseClasses,
  type Evaluated,
  type EvaluationCase,
  type EvaluationReport,
  evaluate,
} from './testing/evaluate.ts'
export {evaluationTable} from './testing/evaluation-table.ts'
export {type FakeClock, fakeClock, fakeEnvironment} from './testing/fake-environment.ts'
export {type HandFlushedLink, handFlushed, type Parcel} from './testing/hand-flushed-link.ts'
export {difference, type Outcome, type SessionOutcome} from './testing/outcome.ts'
export {promptModel, said} from './testing/prompt-model.ts'
export type {PersonAt, Scene, SceneSession} from './testing/scene.ts'
export {type ScriptedModel, type ScriptedStep, scriptedModel} from './testing/scripted-model.ts'
export {openTestDatabase, type TestDatabase} from './testing/test-database.ts'
export {openTestDevice, type TestDevice, type TestDeviceParts} from './testing/test-device.ts'
export {type ModelTrouble, troubledModel} from './testing/troubled-model.ts'
