import type {SessionId, SubjectId, TenantId} from '../runtime/protocol/ids.ts'

/** Says that something moved and where to look; never the truth itself, so a lost poke costs time only. [SYNC-3] */
export type Poke =
  | {type: 'head'; tenant: TenantId; subject: SubjectId; session: SessionId; head: number}
  | {type: 'inbox'; tenant: TenantId; role: string}
  | {type: 'revoked'; tenant: TenantId; subject: SubjectId}
  | {type: 'agents'; tenant: TenantId}
  | {type: 'memory'; tenant: TenantId; subject: SubjectId}
  | {type: 'erased'; tenant: TenantId; subject: SubjectId}
  | {type: 'fact'; tenant: TenantId; subject?: SubjectId; key: string}

/** Carries pokes from whoever commits to the live streams; a Postgres LISTEN/NOTIFY fits behind it. */
export interface Bus {
  publish(poke: Poke): void
  /** Returns its unsubscribe. A listener must not throw. */
  subscribe(listener: (poke: Poke) => void): () => void
}

/** The bus of a single process. */
export function createBus(): Bus {
  const listeners = new Set<(poke: Poke) => void>()
  return {
    publish: poke => {
      for (const listener of listeners) listener(poke)
    },
    subscribe: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
