import type {ApprovalRecord, Decision} from '../../../runtime/protocol/approval.ts'
import {
  type ApproverKey,
  type Intent,
  intentAlgorithm,
  intentText,
  type SignedIntent,
} from '../../../runtime/protocol/intent.ts'
import {call, type Served, type Who} from './caller.ts'

/** What an approver's device does with its key pair, on WebCrypto alone. */
export async function approverDevice() {
  const pair = await crypto.subtle.generateKey(intentAlgorithm, false, ['sign', 'verify'])
  const publicKey = base64(await crypto.subtle.exportKey('spki', pair.publicKey))
  const sign = async (intent: Intent): Promise<SignedIntent> => {
    const text = new TextEncoder().encode(intentText(intent))
    return {intent, signature: base64(await crypto.subtle.sign(intentAlgorithm, pair.privateKey, text))}
  }
  return {
    publicKey,
    sign,
    register: async (served: Served, who: Who) =>
      (await call<ApproverKey>(served, who, '/v1/approver-keys', {publicKey, label: 'Phone'})).body.key,
    decide: (
      key: ApproverKey['key'],
      {approval, digest}: Pick<ApprovalRecord, 'approval' | 'digest'>,
      {verdict = 'approve', note}: Partial<Decision> = {},
    ) =>
      sign({approval, digest, verdict, ...(note !== undefined && {note}), key, at: 1_800_000_000_000, nonce: nonce()}),
  }
}

function nonce(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

function base64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
}
