import {systemEnvironment} from '../platform/environment.ts'
import type {Decision, InboxItem} from '../protocol/approval.ts'
import type {Delegation, NewDelegation} from '../protocol/delegation.ts'
import type {Environment} from '../protocol/environment.ts'
import type {ApprovalId, ApproverKeyId, DelegationId, OperationId} from '../protocol/ids.ts'
import type {ApproverKey} from '../protocol/intent.ts'
import type {Person} from '../protocol/person.ts'
import type {Connection} from '../protocol/session-view.ts'
import type {Settlement, UncertainItem} from '../protocol/wire.ts'
import {approverLink} from '../sync/approver-link.ts'
import {type CuttableLink, httpLink} from '../sync/http-link.ts'
import {TokenKeeper} from '../sync/token-keeper.ts'
import {browserPeople} from './browser-people.ts'
import {checkInboxOptions} from './check-runtime-options.ts'
import {checkedInbox} from './inbox-arguments.ts'
import {browserInboxMemory, type InboxMemory, type KeptDecision, processInboxMemory} from './inbox-memory.ts'
import {inboxMemories, oneInboxMemory} from './inbox-persons.ts'
import {LiveInbox} from './live-inbox.ts'
import {databaseName} from './remove-browser-database.ts'
import {liveKey, shareLive} from './shared-live.ts'
import {type TokenOption, tokenSource} from './token-source.ts'
import {whilePageLives} from './while-page-lives.ts'

export type InboxState = {
  items: InboxItem[]
  /** Operations with an uncertain outcome that this person may settle. [OP-4] */
  uncertain: UncertainItem[]
  /** Decisions made here that the server has not confirmed, or has refused. [APP-4] */
  decisions: KeptDecision[]
  /** When this state was last read from the server (this device's clock); null if never. */
  seenAt: number | null
  connection: Connection
  /** The key that signs this device's offline decisions; null while there is none. [APP-4] */
  ownKey: ApproverKeyId | null
  /** The keys of this person's devices, including revoked ones; null until they were read from the server. */
  keys: ApproverKey[] | null
}

/**
 * `kept`: signed and stored on this device until the server can be reached. The approval is not decided yet. [APP-4]
 */
export type Decided = 'decided' | 'kept'

/** An approver's inbox: what waits for a decision and what was decided, live from the server. [APP-6] */
export interface Inbox {
  /** Calls `listener` with the current state and after every change. Returns an unsubscribe function. */
  subscribe(listener: (state: InboxState) => void): () => void
  /**
   * Decides one approval. `digest` is the digest of what was displayed. [APP-3] Offline, the decision is signed and
   * sent later, if the inbox was opened with `offline` and has been online once.
   *
   * @throws HoldfastError `refused` when it is already decided, voided or expired, `forbidden`, `offline`, `bad_input`
   */
  decide(approval: ApprovalId, decision: Decision): Promise<Decided>
  /** Removes a decision that the server refused, after the person has read the reason. */
  dismiss(nonce: string): Promise<void>
  /** @throws HoldfastError `refused` when it is no longer uncertain, `offline` */
  settle(operation: OperationId, said: Settlement): Promise<void>
  /** Roles that this person has lent or was lent, latest first. */
  delegations(): Promise<Delegation[]>
  /** @throws HoldfastError `forbidden` for a role that the token does not name, `bad_input` */
  delegate(wish: NewDelegation): Promise<Delegation>
  revokeDelegation(delegation: DelegationId): Promise<Delegation>
  /**
   * Registers a key so that this device can decide offline, under a name that the person chooses. Happens automatically
   * on the first contact with the server, but not again after the key was revoked. [APP-4]
   *
   * @throws HoldfastError `bad_input` for a name over 100 characters, `refused` over 20 active keys, `offline`
   */
  addDevice(label: string): Promise<void>
  /**
   * Revokes the key of one of this person's devices. Decisions that it signed and has not sent no longer count.
   *
   * @throws HoldfastError `not_found`, `offline`
   */
  revokeDevice(key: ApproverKeyId): Promise<void>
  /**
   * Stops showing and sending. The person's data stays on the device until they open an inbox again. With `wipe` it is
   * deleted: the key, the list and the unsent decisions. `undecided`: number of unsent decisions. The server lists the
   * key until it is revoked.
   *
   * @throws HoldfastError `bad_input` for options that it does not know; then nothing is deleted and the inbox stays open
   * @example const {undecided} = await inbox.signOut({wipe: true})
   */
  signOut(options?: {wipe?: boolean}): Promise<{undecided: number}>
  close(): void
}

/** Options of `openInbox`. */
export type InboxOptions = {
  url: string | URL
  /** Default: requests are authenticated by the page's cookies. */
  token?: TokenOption
  /**
   * Stores the list and signed decisions on this device under `name`, separately for each person that the server names.
   * `label` is the device's name in the server's list of keys. Default: online only.
   */
  offline?: {name: string; label?: string; memory?: InboxMemory}
  environment?: Environment
  link?: CuttableLink
}

/**
 * Opens the inbox of the person that the token identifies. It needs no database and no worker.
 *
 * @throws HoldfastError `misconfigured` naming every wrong option
 * @example const inbox = openInbox({url: location.origin, token: async () => token, offline: {name: 'theo'}}) inbox.subscribe(({items}) => render(items))
 */
export function openInbox(options: InboxOptions): Inbox {
  checkInboxOptions(options)
  const {url, token, offline, environment = systemEnvironment} = options
  const ask = tokenSource(token)
  const tokens = ask && new TokenKeeper({...environment, ask})
  const memories = memoriesOf(offline)
  let named: Person | null = null
  const become = (person: Person) => {
    named = person
    return memories.become(person)
  }
  const whose = async () => (named ? liveKey(String(url), named) : null)
  const link = options.link ?? shareLive(httpLink({url, ...tokens?.forLink()}), whose)
  const server = approverLink(link)
  const live = new LiveInbox({
    link,
    server,
    environment,
    memory: memories.memory,
    become,
    label: offline ? (offline.label ?? 'Browser') : null,
  })
  live.start()
  // A page in the back/forward cache must not hold the stream that other tabs share.
  const stop = whilePageLives(there => live.setOnline(there))
  return checkedInbox({
    subscribe: listener => live.subscribe(listener),
    decide: (approval, decision) => live.decide(approval, decision),
    dismiss: nonce => live.dismiss(nonce),
    settle: async (operation, said) => {
      await server.settle(operation, said)
      live.refreshQuietly()
    },
    delegations: () => server.delegations(),
    delegate: wish => server.delegate(wish),
    revokeDelegation: delegation => server.revokeDelegation(delegation),
    addDevice: label => live.key.add(label),
    revokeDevice: key => live.key.revoke(key),
    signOut: async ({wipe = false} = {}) => {
      stop()
      const undecided = live.undecided
      await live.leave(() => memories.leave({wipe}))
      return {undecided}
    },
    close: () => {
      stop()
      live.close()
    },
  })
}

function memoriesOf(offline: {name: string; memory?: InboxMemory} | undefined) {
  if (!offline) return oneInboxMemory(processInboxMemory())
  if (offline.memory) return oneInboxMemory(offline.memory)
  const {name} = offline
  return inboxMemories(browserPeople(`inbox:${name}`), place => browserInboxMemory(databaseName(name, place)))
}
