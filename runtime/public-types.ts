/**
 * The types used in signatures of the public entries. Applications import them for their own declarations
 * (`declaration: true`), props and parameters. Every entry that runs or shows agents exports them.
 */
export type {SessionDevice} from './device/runtime-service.ts'
export type {ToolImplementations} from './loop/define.ts'
export type {SlotEditor} from './loop/slot-editor.ts'
export type {KeptDecision} from './page/inbox-memory.ts'
export type {SessionTarget} from './page/page-runtime.ts'
export type {Source} from './page/source.ts'
export type {Decision, InboxItem} from './protocol/approval.ts'
export type {BlobId, BlobRef} from './protocol/blob.ts'
export type {RunUsage} from './protocol/budget.ts'
export type {Delegation, NewDelegation} from './protocol/delegation.ts'
export type {Divergence, DivergenceChoice} from './protocol/divergence.ts'
export type {Environment} from './protocol/environment.ts'
export type {ErrorBody, ErrorCode, ErrorDetails} from './protocol/errors.ts'
export type {Fact, FactReading} from './protocol/fact.ts'
export type {
  ApprovalId,
  ApproverKeyId,
  CallId,
  CorrelationId,
  DelegationId,
  DeviceId,
  EventId,
  MemoryChangeId,
  MemoryId,
  OperationId,
  RunId,
  SessionId,
  StepId,
  SubjectId,
  TenantId,
} from './protocol/ids.ts'
export type {ApproverKey} from './protocol/intent.ts'
export type {Json} from './protocol/json.ts'
export type {Transform} from './protocol/manifest.ts'
export type {MemoryChange, MemoryItem, MemoryKind, MemoryRecord} from './protocol/memory.ts'
export type {RecallAsk, RecalledMemory} from './protocol/memory-recall.ts'
export type {MemoryEntry, MemoryView} from './protocol/memory-view.ts'
export type {ModelView} from './protocol/model-view.ts'
export type {OpenOperation} from './protocol/open-operations.ts'
export type {Opening, OpeningCause, OpeningCauseKind, OpeningStep, Way} from './protocol/opening.ts'
export type {OperationState, OperationStatus} from './protocol/operation.ts'
export type {Passport} from './protocol/passport.ts'
export type {Budgets, MemoryProfile, ModelProfile, Pin} from './protocol/pin.ts'
export type {Recovery, StorageKind, StorageState} from './protocol/recovery.ts'
export type {ResumedFrom, RunState, RunStatus} from './protocol/run.ts'
export type {RunExport} from './protocol/run-export.ts'
export type {BusyPolicy, SessionState} from './protocol/session.ts'
export type {Connection, SessionListItem, SessionView} from './protocol/session-view.ts'
export type {Slots} from './protocol/slots.ts'
export type {StandingEffect, StandingEffects} from './protocol/standing-effects.ts'
export type {Basis, Effect, PinnedTool, ToolContract} from './protocol/tool.ts'
export type {Durability, NoticeEntry, ToolEntry, TranscriptEntry} from './protocol/transcript.ts'
export type {Settlement, UncertainItem} from './protocol/wire.ts'
export type {CuttableLink} from './sync/http-link.ts'
