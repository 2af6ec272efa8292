import {beforeAll} from 'vitest'
import type {Decision, InboxItem} from '../../../runtime/protocol/approval.ts'
import type {ErrorBody} from '../../../runtime/protocol/errors.ts'
import type {LoggedEvent} from '../../../runtime/protocol/event.ts'
import type {Page} from '../../../runtime/protocol/wire.ts'
import {createSyncServer, type SyncServer, type SyncServerOptions} from '../../../sync-server/index.ts'
import {call, type Served, trustingAuth, type Who} from './caller.ts'
import {underContract} from './contract.ts'
import type {TestDatabase} from './database.ts'
import {movableClock} from './environment.ts'
import {type RefundDesk, refundDesk} from './refund-desk.ts'

/** A refund desk and servers for it on the file's database. */
export function deskServers(database: Pick<TestDatabase, 'sql' | 'store'>) {
  const environment = movableClock()
  let desk: RefundDesk | null = null
  beforeAll(async () => {
    desk = refundDesk(database.sql)
    await desk.prepare()
  })
  const get = (): RefundDesk => {
    if (!desk) throw new Error('the desk is not open yet')
    return desk
  }
  return {
    environment,
    get desk() {
      return get()
    },
    server: (options: Partial<SyncServerOptions> = {}): SyncServer =>
      underContract(
        createSyncServer({
          store: database.store,
          authenticate: trustingAuth,
          facts: get().facts,
          operations: get().operation(),
          environment,
          ...options,
        }),
      ),
  }
}

export async function logOf(served: Served, who: Who, session: string): Promise<LoggedEvent[]> {
  return (await call<Page>(served, who, `/v1/sessions/${session}/events`)).body.events as LoggedEvent[]
}

/** The kinds of a session's server events, in order. */
export async function told(served: Served, who: Who, session: string): Promise<string[]> {
  const events = await logOf(served, who, session)
  return events.filter(event => event.actor.type === 'service').map(event => event.kind)
}

export async function inbox(served: Served, who: Who, status = 'open'): Promise<InboxItem[]> {
  return (await call<{approvals: InboxItem[]}>(served, who, `/v1/approvals?status=${status}`)).body.approvals
}

export function decide(served: Served, who: Who, approval: string, decision: Decision) {
  return call<InboxItem & {error?: ErrorBody}>(served, who, `/v1/approvals/${approval}/decision`, decision)
}
