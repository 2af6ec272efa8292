import {toBase64} from '../protocol/base64.ts'
import {toHex} from '../protocol/hex.ts'
import {type ApproverKey, type Intent, intentAlgorithm, intentText, type SignedIntent} from '../protocol/intent.ts'

/** The private half stays in this browser: it can be used by the page and read by nobody, the page included. */
export type DeviceKey = {key: ApproverKey['key']; privateKey: CryptoKey}

/** A new pair, and the public half as the server takes it. */
export async function makeKeyPair(): Promise<{privateKey: CryptoKey; publicKey: string}> {
  const {privateKey, publicKey} = await crypto.subtle.generateKey(intentAlgorithm, false, ['sign', 'verify'])
  return {privateKey, publicKey: toBase64(new Uint8Array(await crypto.subtle.exportKey('spki', publicKey)))}
}

export async function signIntent(
  {key, privateKey}: DeviceKey,
  decided: Omit<Intent, 'key' | 'nonce'>,
): Promise<SignedIntent> {
  const intent = {...decided, key, nonce: toHex(crypto.getRandomValues(new Uint8Array(16)))}
  const text = new TextEncoder().encode(intentText(intent))
  return {intent, signature: toBase64(new Uint8Array(await crypto.subtle.sign(intentAlgorithm, privateKey, text)))}
}
