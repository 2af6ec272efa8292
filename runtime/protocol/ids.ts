import * as z from 'zod'
import {isStorable} from './text.ts'

/**
 * Identifiers are UUIDv7 behind a prefix that says what they name, so a value can never be mistaken for one of
 * another type, neither by the compiler (brand) nor by a person reading a log (prefix). [ID-1]
 * None is derived from another. Tenant and subject come from the application's own tokens and are opaque here.
 */
const uuidv7 = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'

function prefixed<const Brand extends string>(prefix: string, brand: Brand) {
  return z
    .string()
    .regex(
      new RegExp(`^${prefix}_${uuidv7}$`),
      `expected ${article(brand)} id: "${prefix}_" followed by a UUIDv7 in lower case`,
    )
    .brand<Brand>()
}

function article(brand: string): string {
  return `${/^[aeo]/.test(brand) ? 'an' : 'a'} ${brand}`
}

function opaque<const Brand extends string>(brand: Brand) {
  return z
    .string()
    .min(1, `expected a ${brand} id of 1 to 200 characters`)
    .max(200, `expected a ${brand} id of 1 to 200 characters`)
    .refine(isStorable, `expected a ${brand} id of well-formed text without NUL`)
    .brand<Brand>()
}

export const tenantIdSchema = opaque('tenant')
export const subjectIdSchema = opaque('subject')
export const deviceIdSchema = prefixed('dev', 'device')
export const sessionIdSchema = prefixed('ses', 'session')
export const runIdSchema = prefixed('run', 'run')
export const stepIdSchema = prefixed('stp', 'step')
export const callIdSchema = prefixed('cal', 'call')
export const operationIdSchema = prefixed('opn', 'operation')
export const approvalIdSchema = prefixed('apr', 'approval')
export const eventIdSchema = prefixed('evt', 'event')
export const delegationIdSchema = prefixed('dlg', 'delegation')
export const approverKeyIdSchema = prefixed('key', 'key')
export const correlationIdSchema = prefixed('cor', 'correlation')
export const memoryIdSchema = prefixed('mem', 'memory')
export const memoryChangeIdSchema = prefixed('mch', 'memory change')
export const erasureIdSchema = prefixed('ers', 'erasure')

export type TenantId = z.infer<typeof tenantIdSchema>
export type SubjectId = z.infer<typeof subjectIdSchema>
export type DeviceId = z.infer<typeof deviceIdSchema>
export type SessionId = z.infer<typeof sessionIdSchema>
export type RunId = z.infer<typeof runIdSchema>
export type StepId = z.infer<typeof stepIdSchema>
export type CallId = z.infer<typeof callIdSchema>
export type OperationId = z.infer<typeof operationIdSchema>
export type ApprovalId = z.infer<typeof approvalIdSchema>
export type EventId = z.infer<typeof eventIdSchema>
export type DelegationId = z.infer<typeof delegationIdSchema>
export type ApproverKeyId = z.infer<typeof approverKeyIdSchema>
export type CorrelationId = z.infer<typeof correlationIdSchema>
export type MemoryId = z.infer<typeof memoryIdSchema>
export type MemoryChangeId = z.infer<typeof memoryChangeIdSchema>
export type ErasureId = z.infer<typeof erasureIdSchema>

/** The generated ids, by the name that `environment.id(name)` takes. */
export type GeneratedIds = {
  device: DeviceId
  session: SessionId
  run: RunId
  step: StepId
  call: CallId
  operation: OperationId
  approval: ApprovalId
  event: EventId
  delegation: DelegationId
  key: ApproverKeyId
  correlation: CorrelationId
  memory: MemoryId
  memoryChange: MemoryChangeId
  erasure: ErasureId
}

const idPrefixes: Record<keyof GeneratedIds, string> = {
  device: 'dev',
  session: 'ses',
  run: 'run',
  step: 'stp',
  call: 'cal',
  operation: 'opn',
  approval: 'apr',
  event: 'evt',
  delegation: 'dlg',
  key: 'key',
  correlation: 'cor',
  memory: 'mem',
  memoryChange: 'mch',
  erasure: 'ers',
}

/** Joins a prefix and a fresh UUIDv7; the randomness comes from outside so that this folder stays pure. */
export function formatId<Name extends keyof GeneratedIds>(name: Name, uuidv7: string): GeneratedIds[Name] {
  return `${idPrefixes[name]}_${uuidv7}` as GeneratedIds[Name]
}
