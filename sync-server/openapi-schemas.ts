import * as z from 'zod'
import {approvalRecordSchema, digestSchema, endorsementSchema, inboxItemSchema} from '../runtime/protocol/approval.ts'
import {blobIdSchema} from '../runtime/protocol/blob.ts'
import {delegationSchema} from '../runtime/protocol/delegation.ts'
import {erasureReceiptSchema, purgeOrderSchema, redactionOrderSchema} from '../runtime/protocol/erasure.ts'
import {errorBodySchema} from '../runtime/protocol/errors.ts'
import {actorSchema, custodianKinds, envelopeSchema, personKinds, serverKinds} from '../runtime/protocol/event.ts'
import {factSchema} from '../runtime/protocol/fact.ts'
import * as ids from '../runtime/protocol/ids.ts'
import {approverKeySchema} from '../runtime/protocol/intent.ts'
import {eventDataSchema, jsonObjectSchema, jsonSchema} from '../runtime/protocol/json.ts'
import {
  memoryItemSchema,
  memoryProposalSchema,
  memoryRecordSchema,
  memorySourceSchema,
} from '../runtime/protocol/memory.ts'
import {recalledMemorySchema} from '../runtime/protocol/memory-recall.ts'
import {memoryPushSchema} from '../runtime/protocol/memory-wire.ts'
import {modelCallKeySchema, modelCallSchema, modelFailureSchema} from '../runtime/protocol/model-call.ts'
import {passportSchema, standingEffectsSchema} from '../runtime/protocol/passport-wire.ts'
import {budgetsSchema, pinSchema} from '../runtime/protocol/pin.ts'
import {operationRecordSchema} from '../runtime/protocol/run-records.ts'
import {basisSchema, factKeySchema, pinnedToolSchema, sha256Schema} from '../runtime/protocol/tool.ts'
import * as wire from '../runtime/protocol/wire.ts'
import {modelNameSchema} from './models/call.ts'

/** Schemas that several routes share, by their name in the document and in generated clients. */
const shared = {
  ApprovalId: ids.approvalIdSchema,
  ApproverKeyId: ids.approverKeyIdSchema,
  CallId: ids.callIdSchema,
  CorrelationId: ids.correlationIdSchema,
  DelegationId: ids.delegationIdSchema,
  DeviceId: ids.deviceIdSchema,
  ErasureId: ids.erasureIdSchema,
  EventId: ids.eventIdSchema,
  MemoryId: ids.memoryIdSchema,
  OperationId: ids.operationIdSchema,
  RunId: ids.runIdSchema,
  SessionId: ids.sessionIdSchema,
  StepId: ids.stepIdSchema,
  SubjectId: ids.subjectIdSchema,
  TenantId: ids.tenantIdSchema,
  Digest: digestSchema,
  Sha256: sha256Schema,
  Json: jsonSchema,
  JsonObject: jsonObjectSchema,
  EventData: eventDataSchema,
  Error: errorBodySchema,
  ErrorAnswer: wire.errorAnswerSchema,
  Actor: actorSchema,
  Event: envelopeSchema,
  EventVerdict: wire.verdictSchema,
  SessionSummary: wire.sessionSummarySchema,
  PurgeOrder: purgeOrderSchema,
  RedactionOrder: redactionOrderSchema,
  Approval: inboxItemSchema,
  ApprovalRecord: approvalRecordSchema,
  Endorsement: endorsementSchema,
  Operation: operationRecordSchema,
  UncertainOperation: wire.uncertainItemSchema,
  Delegation: delegationSchema,
  ApproverKey: approverKeySchema,
  Fact: factSchema,
  FactKey: factKeySchema,
  BlobId: blobIdSchema,
  Basis: basisSchema,
  Agent: wire.agentListingSchema,
  AgentManifest: wire.agentManifestSchema,
  AgentList: wire.agentListSchema,
  Pin: pinSchema,
  PinnedTool: pinnedToolSchema,
  Budgets: budgetsSchema,
  Passport: passportSchema,
  StandingEffects: standingEffectsSchema,
  ErasureReceipt: erasureReceiptSchema,
  MemoryItem: memoryItemSchema,
  MemoryRecord: memoryRecordSchema,
  MemorySource: memorySourceSchema,
  MemoryProposal: memoryProposalSchema,
  RecalledMemory: recalledMemorySchema,
  ModelName: modelNameSchema,
  ModelCall: modelCallSchema,
  ModelCallKey: modelCallKeySchema,
  ModelFailure: modelFailureSchema,
  LiveMessage: wire.liveMessageSchema,
} satisfies Record<string, z.ZodType>

/** The data schema of every event kind, with an id derived from the kind. */
const kinds = Object.entries({...personKinds, ...custodianKinds, ...serverKinds}).map(([kind, schema]) => ({
  kind,
  id: kind.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase()),
  schema: schema as z.ZodType,
}))

/**
 * Batch items that the server validates one by one, so that an invalid item does not refuse the batch. Maps to the
 * schema of the item.
 */
const judgedApart = new Map<unknown, keyof typeof shared>([
  [wire.pushSchema.shape.events.element, 'Event'],
  [memoryPushSchema.shape.proposals.element, 'MemoryProposal'],
])

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** Converts Zod schemas to those of the document. A named schema is written once and referenced by name. */
export function schemaBook() {
  const registry = z.registry<{id: string}>()
  const names = new Map<z.ZodType, string>()
  const name = (id: string, schema: z.ZodType) => {
    if (names.has(schema)) return
    names.set(schema, id)
    registry.add(schema, {id})
  }
  for (const [id, schema] of Object.entries(shared)) name(id, schema)
  for (const {id, schema} of kinds) name(id, schema)

  return {
    /** Returns a reference to the schema. Registers it under `id` if it has no name yet. */
    reference: (id: string, schema: z.ZodType): JsonSchema => {
      name(id, schema)
      return {$ref: referTo(names.get(schema) ?? id)}
    },
    /** Returns the schema of a parameter inline, or a reference if it has a name. */
    inline: (schema: z.ZodType): JsonSchema => {
      const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema
      const known = names.get(inner)
      if (known) return {$ref: referTo(known)}
      const {$schema: _, ...plain} = z.toJSONSchema(inner, options)
      return plain
    },
    /** Returns all named schemas. */
    components: (): Record<string, JsonSchema> => {
      const {schemas} = z.toJSONSchema(registry, {...options, uri: referTo})
      const {__shared: _, ...named} = withoutCycles(schemas)
      return Object.fromEntries(
        Object.entries(named)
          .map(([id, {$schema: _, $id: __, ...schema}]) => [id, schema] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      )
    },
  }
}

/** The one recursive schema is `z.json()`. Zod puts it in a place that OpenAPI readers do not resolve. */
function withoutCycles(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const text = JSON.stringify(schemas)
  return JSON.parse(text.replaceAll(/#\/components\/schemas\/__shared#\/\$defs\/\w+/g, referTo('Json')))
}

function referTo(id: string): string {
  return `#/components/schemas/${id}`
}

const options = {
  // A caller may send more forms than the parsed output has, and a reader must tolerate fields of a later server.
  io: 'input',
  unrepresentable: 'any',
  override: ({zodSchema, jsonSchema: written}) => {
    if (zodSchema === jsonSchema) written.description = 'Any JSON that its text gives back unchanged.'
    if (zodSchema === jsonObjectSchema || zodSchema === eventDataSchema)
      Object.assign(written, {type: 'object', additionalProperties: true})
    // An envelope is parsed before its kind is known, so the data schemas per kind are listed in `x-data`.
    if (zodSchema === envelopeSchema) {
      written['x-data'] = Object.fromEntries(kinds.map(({kind, id}) => [kind, {$ref: referTo(id)}]))
    }
    const item = judgedApart.get(zodSchema)
    if (item) Object.assign(written, {$ref: referTo(item), description: 'Judged by itself.'})
  },
} satisfies z.core.ToJSONSchemaParams
