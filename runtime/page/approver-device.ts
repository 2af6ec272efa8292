import {type ApproverKey, type Intent, intentAlgorithm, intentText, type SignedIntent} from '../protocol/intent.ts'

/** The private half stays in this browser: it can be used by the page and read by nobody, the page included. */
export type DeviceKey = {key: ApproverKey['key']; privateKey: CryptoKey}

/** A new pair, and the public half as the server takes it. */
export async function makeKeyPair(): Promise<{privateKey: CryptoKey; publicKey: string}> {
  const {privateKey, publicKey} = await crypto.subtle.generateKey(intentAlgorithm, false, ['sign', 'verify'])
  return {privateKey, publicKey: base64(await crypto.subtle.exportKey('spki', publicKey))}
}

export async function signIntent(
  {key, privateKey}: DeviceKey,
  decided: Omit<Intent, 'key' | 'nonce'>,
): Promise<SignedIntent> {
  const intent = {...decided, key, nonce: hex(crypto.getRandomValues(new Uint8Array(16)))}
  const text = new TextEncoder().encode(intentText(intent))
  return {intent, signature: base64(await crypto.subtle.sign(intentAlgorithm, privateKey, text))}
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

function base64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
}
