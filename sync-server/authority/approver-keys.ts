import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {ApproverKeyId} from '../../runtime/protocol/ids.ts'
import {
  type ApproverKey,
  intentAlgorithm,
  intentText,
  type NewKey,
  type SignedIntent,
} from '../../runtime/protocol/intent.ts'
import type {Principal} from '../principal.ts'
import type {StoredKey} from '../storage/approver-records.ts'
import type {Authority} from './authority.ts'

/** Maximum number of keys in force per subject. The key of a lost device can be revoked. */
const keysOfOne = 20

/**
 * Registers a device's public key for the caller. Only the subject's own token can do this. [APP-4]
 *
 * @throws HoldfastError `bad_input` if it is not a P-256 public key, `refused` over 20 keys in force
 */
export async function registerKey(authority: Authority, principal: Principal, wish: NewKey): Promise<ApproverKey> {
  const {store, environment} = authority
  const {tenant, subject} = principal
  if (!(await importKey(wish.publicKey))) {
    throw new HoldfastError('bad_input', 'body.publicKey: expected a P-256 public key as SubjectPublicKeyInfo', {
      details: {what: 'body', issues: [{field: 'publicKey', expected: 'a P-256 public key'}]},
    })
  }
  const at = environment.now()
  const stored: StoredKey = {key: environment.id('key'), subject, ...wish, createdAt: at, revokedAt: null}
  const audit = {tenant, subject, action: 'key.registered' as const, about: stored.key, reason: wish.label, at}
  // Idempotent: after a lost response the same public key returns the existing record.
  const inForce = await store.keys.add(tenant, stored, audit, keysOfOne)
  if (inForce) return shown(inForce)
  throw new HoldfastError('refused', `At most ${keysOfOne} keys may be in force; revoke one first.`)
}

export async function listKeys({store}: Authority, principal: Principal): Promise<ApproverKey[]> {
  return (await store.keys.list(principal)).map(shown)
}

/**
 * Revokes a key of the caller.
 *
 * @throws HoldfastError `not_found` for an unknown key and for the key of another subject
 */
export async function revokeKey(authority: Authority, principal: Principal, id: ApproverKeyId): Promise<ApproverKey> {
  const {store, environment} = authority
  const {tenant, subject} = principal
  const at = environment.now()
  const key = await store.keys.get(tenant, id)
  if (key?.subject !== subject) {
    const reason = 'No such key to revoke.'
    await store.audit.record({tenant, subject, action: 'key.refused', about: id, reason, at})
    throw new HoldfastError('not_found', 'No such key.')
  }
  await store.keys.revoke(tenant, id, at, {tenant, subject, action: 'key.revoked', about: id, reason: '', at})
  return shown((await store.keys.get(tenant, id)) ?? key)
}

/** Verifies the signature of an intent against the caller's keys. Returns the error, or null if it is valid. */
export async function signatureFault(
  {store}: Authority,
  {tenant, subject}: Principal,
  {intent, signature}: SignedIntent,
): Promise<HoldfastError | null> {
  const stored = await store.keys.get(tenant, intent.key)
  // Same error for an unknown key and another subject's key: the owner is not disclosed.
  if (stored?.subject !== subject) return keyFault('unknown', 'This key is not known as yours.')
  if (stored.revokedAt !== null) return keyFault('revoked', 'This key has been revoked.')
  const key = await importKey(stored.publicKey)
  const text = new TextEncoder().encode(intentText(intent))
  const valid = key && (await crypto.subtle.verify(intentAlgorithm, key, bytesOf(signature), text))
  return valid ? null : keyFault('mismatch', 'The signature does not belong to this decision.')
}

function keyFault(key: 'unknown' | 'revoked' | 'mismatch', message: string): HoldfastError {
  return new HoldfastError('forbidden', message, {details: {key}})
}

async function importKey(publicKey: string): Promise<CryptoKey | null> {
  try {
    return await crypto.subtle.importKey('spki', bytesOf(publicKey), intentAlgorithm, false, ['verify'])
  } catch {
    return null
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), character => character.charCodeAt(0))
}

function shown({key, label, createdAt, revokedAt}: StoredKey): ApproverKey {
  return {key, label, createdAt, revokedAt}
}
