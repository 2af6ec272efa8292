import type {ApproverKeyId} from '../protocol/ids.ts'
import type {ApproverKey} from '../protocol/intent.ts'
import type {ApproverLink} from '../sync/approver-link.ts'
import {type DeviceKey, makeKeyPair} from './approver-device.ts'
import type {InboxMemory, KeptKey} from './inbox-memory.ts'

type Parts = {
  server: Pick<ApproverLink, 'keys' | 'registerKey' | 'revokeKey'>
  memory: Pick<InboxMemory, 'load' | 'saveKey'>
  /**
   * The name of this device in the server's list of keys. Null: no key is created, so nothing can be decided offline.
   */
  label: string | null
  changed(): void
}

/** The key that signs this device's offline decisions, and the server's list of this person's keys. [APP-4] */
export class InboxKey {
  #own: KeptKey = null
  #all: ApproverKey[] | null = null
  #pair: ReturnType<typeof makeKeyPair> | null = null

  constructor(private readonly parts: Parts) {}

  remember(own: KeptKey): void {
    this.#all = null
    this.#own = own
  }

  /** Null while nothing can be signed here. */
  get signing(): DeviceKey | null {
    return this.#own === 'declined' ? null : this.#own
  }

  /** The server's list when it was last read; null before the first time. */
  get all(): ApproverKey[] | null {
    return this.#all
  }

  /** Creates a key on the first contact with the server. A revoked key is not replaced automatically. */
  async look(): Promise<void> {
    if (this.parts.label === null) return
    // Another tab may have created or declined a key.
    if (!this.signing) this.#own = (await this.parts.memory.load()).key
    await this.#read()
    if (this.#own === null) await this.add(this.parts.label)
  }

  async add(label: string): Promise<void> {
    const {server, memory} = this.parts
    // Kept until it is registered: after a lost response, the same key is registered again and the server recognises
    // it.
    this.#pair ??= makeKeyPair().catch(error => {
      this.#pair = null
      throw error
    })
    const {privateKey, publicKey} = await this.#pair
    const {key} = await server.registerKey({publicKey, label})
    this.#own = {key, privateKey}
    this.#pair = null
    await memory.saveKey(this.#own)
    await this.#read()
  }

  async revoke(key: ApproverKeyId): Promise<void> {
    await this.parts.server.revokeKey(key)
    await this.#read()
  }

  /** The server has refused what this key signed. */
  async lose(how: 'unknown' | 'revoked'): Promise<void> {
    this.#own = how === 'revoked' ? 'declined' : null
    await this.parts.memory.saveKey(this.#own)
    this.parts.changed()
  }

  async #read(): Promise<void> {
    const all = await this.parts.server.keys()
    this.#all = all
    const own = this.signing && all.find(({key}) => key === this.signing?.key)
    if (this.signing && own?.revokedAt !== null) return this.lose(own ? 'revoked' : 'unknown')
    this.parts.changed()
  }
}
