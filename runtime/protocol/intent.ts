import * as z from 'zod'
import {decisionSchema} from './approval.ts'
import {approvalIdSchema, approverKeyIdSchema} from './ids.ts'

/**
 * A decision made while the server was out of reach. It is the wish of whoever holds the key and decides nothing: the
 * server redeems it once, after it has looked again at operation, expiry, authority and facts. [APP-4]
 */
export const intentSchema = z.strictObject({
  approval: approvalIdSchema,
  ...decisionSchema.shape,
  key: approverKeyIdSchema,
  /** The device's clock when it was signed: shown, never used to order or to expire. */
  at: z.number(),
  /** Random, so that two decisions never share a signature. */
  nonce: z.string().regex(/^[0-9a-f]{32}$/, 'expected 32 lower-case hex digits'),
})
export type Intent = z.infer<typeof intentSchema>

const base64 = z
  .string()
  .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'expected base64')
  .refine(text => text.length % 4 === 0, 'expected whole base64, with its padding')

export const signedIntentSchema = z.strictObject({intent: intentSchema, signature: base64.max(200)})
export type SignedIntent = z.infer<typeof signedIntentSchema>

/** ECDSA over P-256 with SHA-256: the one signature that every browser's WebCrypto has. */
export const intentAlgorithm = {name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256'} as const

/** What a device sends to be known as an approver's: the public half, as SubjectPublicKeyInfo. */
export const newKeySchema = z.strictObject({
  publicKey: base64.min(100).max(200),
  /** In the owner's words, like "Phone". */
  label: z.string().min(1).max(100),
})
export type NewKey = z.infer<typeof newKeySchema>

export const approverKeySchema = z.strictObject({
  key: approverKeyIdSchema,
  label: z.string(),
  createdAt: z.number(),
  revokedAt: z.number().nullable(),
})
export type ApproverKey = z.infer<typeof approverKeySchema>
export const approverKeyListSchema = z.strictObject({keys: z.array(approverKeySchema)})

/**
 * The exact text that is signed, the same on both sides whatever order the fields arrived in. It begins with what it is
 * for, so that a signature under something else can never be taken for a decision.
 */
export function intentText({approval, digest, verdict, note, key, at, nonce}: Intent): string {
  return JSON.stringify(['holdfast approval intent', 1, approval, digest, verdict, note ?? null, key, at, nonce])
}
