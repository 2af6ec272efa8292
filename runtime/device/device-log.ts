import type {NextStep} from '../loop/next-step.ts'
import type {RunLoop} from '../loop/run-loop.ts'
import {HoldfastError, isOutOfReach, isStorageFault} from '../protocol/errors.ts'
import type {DeviceId} from '../protocol/ids.ts'
import {type LoggedError, type LogLine, loggedError, openLog, refusedByCode} from '../protocol/log-line.ts'
import type {Recovery} from '../protocol/recovery.ts'
import type {SessionState} from '../protocol/session.ts'
import {sessionFields} from '../protocol/telemetry.ts'
import type {EventVerdict} from '../protocol/wire.ts'
import type {SessionLog} from '../storage/session-log.ts'

type Logged = Pick<SessionLog, 'state'>

/** What a device tells its operator: of runs, of the server's refusals, of its own storage. Being offline is no line. */
export type DeviceLog = {
  stepDone(step: NextStep, log: Logged): void
  stepFailed(step: NextStep, log: Logged, error: unknown): void
  /** From now on tells when a run of this device fails, and when its session rests for want of storage. */
  watch(log: SessionLog, loop: RunLoop): void
  refusedForGood(state: SessionState, error: HoldfastError): void
  rejected(state: SessionState, verdicts: readonly EventVerdict[]): void
  /** The database was not as it had been left. [LOG-9] */
  recovered(recovery: Recovery | null): void
  /** This runtime has no server that could carry out these tools. [OP-1] */
  noServer(external: readonly {agent: string; tool: string}[]): void
}

type Parts = {
  write: ((line: LogLine) => void) | undefined
  now(): number
  tenant(): string | null
  device: DeviceId
}

export function deviceLog({write, now, tenant, device}: Parts): DeviceLog {
  const log = openLog(write, now)
  const fieldsOf = (state: SessionState) => sessionFields(tenant(), state)
  /** Why the last step of each session failed: its run ends with that, and the state does not say it. */
  const failures = new WeakMap<Logged, LoggedError>()

  return {
    recovered: recovery => {
      if (!recovery) return
      const {cause, restored, refilling, lost} = recovery
      log('storage.recovered', {
        'holdfast.recovery_cause': cause,
        'holdfast.events_restored': restored,
        'holdfast.events_refilling': refilling,
        'holdfast.events_lost': lost ?? 'unknown',
      })
    },
    noServer: external => {
      for (const {agent, tool} of external) {
        log('tool.no_server', {'gen_ai.agent.name': agent, 'gen_ai.tool.name': tool})
      }
    },
    stepDone: (step, {state}) => {
      if (step.do === 'start-run') log('run.started', fieldsOf(state))
      if (step.do === 'resume-run') log('run.resumed', fieldsOf(state))
    },
    stepFailed: (step, session, error) => {
      const told = loggedError(error)
      failures.set(session, told)
      if (isOutOfReach(error) || HoldfastError.is(error, 'refused', 'cancelled', 'backlog_full')) return
      const event = told.code === 'stale_epoch' ? 'epoch.stale' : 'step.failed'
      log(event, {...fieldsOf(session.state), 'holdfast.step_kind': step.do}, told)
    },
    watch: (session, loop) => {
      onRunFailed(session, device, retryable => {
        const fields = {...fieldsOf(session.state), 'holdfast.retryable': String(retryable)}
        log('run.failed', fields, failures.get(session))
      })
      onFault(loop, fault =>
        log(isStorageFault(fault) ? 'storage.fault' : 'session.stopped', fieldsOf(session.state), loggedError(fault)),
      )
    },
    refusedForGood: (state, error) => log('sync.refused', fieldsOf(state), loggedError(error)),
    rejected: (state, verdicts) => {
      for (const [code, count] of refusedByCode(verdicts)) {
        const event = code === 'stale_epoch' ? 'epoch.stale' : 'sync.refused'
        log(event, {...fieldsOf(state), 'holdfast.events': count}, {code})
      }
    },
  }
}

/** Calls once for each failure of a run that this device works on, wherever its events were confirmed meanwhile. */
function onRunFailed(session: SessionLog, device: DeviceId, tell: (retryable: boolean) => void): void {
  let before = session.state.run
  session.onChange(() => {
    const {run, custody} = session.state
    const failed = run?.ended === 'failed_retryable' || run?.ended === 'failed_final'
    const fresh = failed && (before?.id !== run.id || before.ended !== run.ended)
    before = run
    if (fresh && custody.holder === device) tell(run.ended === 'failed_retryable')
  })
}

function onFault(loop: RunLoop, tell: (fault: HoldfastError) => void): void {
  let told: HoldfastError | null = null
  loop.onChange(() => {
    const {fault} = loop.state
    if (fault && fault !== told) tell(fault)
    told = fault
  })
}
