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
import {browserInboxMemory, type InboxMemory, type KeptDecision, processInboxMemory} from './inbox-memory.ts'
import {inboxMemories, oneInboxMemory} from './inbox-persons.ts'
import {LiveInbox} from './live-inbox.ts'
import {databaseName} from './remove-browser-database.ts'
import {liveKey, shareLive} from './shared-live.ts'
import {type TokenOption, tokenSource} from './token-source.ts'
import {whilePageLives} from './while-page-lives.ts'

export type InboxState = {
  items: InboxItem[]
  /** Operations whose outcome this person may be the only one to tell. [OP-4] */
  uncertain: UncertainItem[]
  /** What was decided here and not yet by the server, and what the server then refused. [APP-4] */
  decisions: KeptDecision[]
  /** When the server last showed all this, by this device's clock; null when it never has. */
  seenAt: number | null
  connection: Connection
  /** Under which this device signs what is decided offline; null while it cannot. [APP-4] */
  ownKey: ApproverKeyId | null
  /** The keys of this person's devices, revoked ones too; null until the server has shown them. */
  keys: ApproverKey[] | null
}

/** `kept`: signed and kept on this device until the server can be asked; nothing has been decided yet. [APP-4] */
export type Decided = 'decided' | 'kept'

/** An approver's inbox: what waits for a decision and what was decided, live from the server. [APP-6] */
export interface Inbox {
  /** Told the state now and on every change; returns how to stop. */
  subscribe(listener: (state: InboxState) => void): () => void
  /**
   * Decides one approval; `digest` is that of what was on the screen. [APP-3] Out of reach of the server it signs the
   * decision and hands it in later, if the inbox was opened with `offline` and has been online once.
   *
   * @throws HoldfastError `refused` when it is decided, voided or expired already, `forbidden`, `offline`
   */
  decide(approval: ApprovalId, decision: Decision): Promise<Decided>
  /** Forgets a decision that the server refused, once the person has read why. */
  dismiss(nonce: string): Promise<void>
  /** @throws HoldfastError `refused` when it is no longer uncertain, `offline` */
  settle(operation: OperationId, said: Settlement): Promise<void>
  /** Roles that this person has lent or was lent, latest first. */
  delegations(): Promise<Delegation[]>
  /** @throws HoldfastError `forbidden` for a role that the token does not name, `bad_input` */
  delegate(wish: NewDelegation): Promise<Delegation>
  revokeDelegation(delegation: DelegationId): Promise<Delegation>
  /**
   * Lets this device decide offline, under a name in the person's own words. It does so by itself on the first contact,
   * but not again once its key was revoked. [APP-4]
   *
   * @throws HoldfastError `bad_input` for a name over 100 characters, `refused` over 20 keys in force, `offline`
   */
  addDevice(label: string): Promise<void>
  /**
   * Ends the power of a device of this person's to decide offline; what it signed and has not handed in counts no more.
   *
   * @throws HoldfastError `not_found`, `offline`
   */
  revokeDevice(key: ApproverKeyId): Promise<void>
  /**
   * Shows and sends nothing more. What is kept of this person stays on the device, for when they open an inbox again;
   * with `wipe` it is deleted: the key, the list and the decisions that were not handed in. Returns how many those were.
   * The server goes on listing the key until it is revoked.
   *
   * @example
   * const {undecided} = await inbox.signOut({wipe: true})
   */
  signOut(options?: {wipe?: boolean}): Promise<{undecided: number}>
  close(): void
}

/**
 * Opens the inbox of whoever the token names; needs no database and no worker.
 *
 * @example
 * const inbox = openInbox({url: location.origin, token: async () => token, offline: {name: 'theo'}})
 * inbox.subscribe(({items}) => render(items))
 */
export function openInbox(options: {
  url: string | URL
  /** Left out, requests go with the cookies of the page. */
  token?: TokenOption
  /**
   * Keeps the list and signed decisions on this device under a name, apart for each person that the server names;
   * `label` is what the server's list of keys calls the device. Without it the inbox works online only.
   */
  offline?: {name: string; label?: string; memory?: InboxMemory}
  environment?: Environment
  link?: CuttableLink
}): Inbox {
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
  // A page that is kept for the way back must not keep the stream that other tabs share.
  const stop = whilePageLives(there => live.setOnline(there))
  return {
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
  }
}

function memoriesOf(offline: {name: string; memory?: InboxMemory} | undefined) {
  if (!offline) return oneInboxMemory(processInboxMemory())
  if (offline.memory) return oneInboxMemory(offline.memory)
  const {name} = offline
  return inboxMemories(browserPeople(`inbox:${name}`), place => browserInboxMemory(databaseName(name, place)))
}
