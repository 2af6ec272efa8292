import type {SessionId} from '../protocol/ids.ts'
import type {OpenSession} from './open-session.ts'

type OpenSessions = ReadonlyMap<SessionId, Promise<OpenSession>>

/**
 * Updates the branches of a session when the events they inherit arrive. On a device that did not create a branch, sync
 * may bring the branch before its source. [RUN-6]
 */
export function showBranchesOnArrival(source: OpenSession, sessions: OpenSessions): void {
  let head = source.log.head
  source.log.onChange(() => {
    const before = head
    head = source.log.head
    if (head > before) void lookAtBranches(source.log.id, before, sessions)
  })
}

async function lookAtBranches(source: SessionId, before: number, sessions: OpenSessions): Promise<void> {
  for (const opening of [...sessions.values()]) {
    const branch = await opening.catch(() => null)
    const from = branch?.log.state.forkedFrom
    if (!branch || from?.session !== source || from.seq <= before) continue
    branch.look()
    await lookAtBranches(branch.log.id, 0, sessions)
  }
}
