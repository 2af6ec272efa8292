import {HoldfastError} from '../../runtime/index.ts'
import type {Connection, SessionView} from '../runtime-types.ts'
import {problemOf} from '../words/problem.ts'
import {boundWords, lateCorrection, waitingWords} from '../words/session.ts'
import {Banner} from './banner.tsx'
import {BannerDetails} from './banner-details.tsx'

type Props = {
  view: SessionView
  connection: Connection['state']
  onRetry: () => void
  onTakeOver: () => void
  onContinueOffline: () => void
  onExtend: () => void
  onStop: () => void
}

/** What stands between the person and the end of this run: a warning, a wait, or a failure with its way out. */
export function RunFoot({view, connection, onRetry, onTakeOver, onContinueOffline, onExtend, onStop}: Props) {
  const bound = boundWords(view)
  const late = lateCorrection(view)
  const waiting = late ? null : waitingWords(view)
  return (
    <div className="run-foot">
      {view.storageFault && (
        <Banner tone="bad">
          This device could not save: {view.storageFault}. Copy what you need before you close the page.
        </Banner>
      )}
      {view.fault && !view.storageFault && <Stopped {...view.fault} />}
      {view.syncFault && (
        <Banner tone="bad">
          The server does not take this conversation: {view.syncFault.replace(/\.$/, '')}. Everything stays on this
          device.
        </Banner>
      )}
      {late && <Banner tone="waiting">{late}</Banner>}
      {view.rejected > 0 && (
        <Banner tone="waiting">
          The server refused {entries(view.rejected)}. They stay here, marked with the reason.
        </Banner>
      )}
      {view.status === 'failed_retryable' && (
        <div className="retry">
          <p>The run stopped by an error that may pass. Nothing that was paid is paid again.</p>
          <button type="button" className="button" onClick={onRetry}>
            Retry
          </button>
        </div>
      )}
      {bound && (
        <div className="retry">
          <p>{bound}</p>
          <button type="button" className="button" onClick={onExtend}>
            Go on
          </button>
          <button type="button" className="button" onClick={onStop}>
            Stop
          </button>
        </div>
      )}
      {view.custody === 'elsewhere' && view.status !== 'closed' && (
        <Elsewhere apart={isApart(connection)} onTakeOver={onTakeOver} onContinueOffline={onContinueOffline} />
      )}
      {waiting && <p className="waiting-for">{waiting}</p>}
    </div>
  )
}

/** The next message or reload tries again. */
function Stopped({code, message}: NonNullable<SessionView['fault']>) {
  const {words, details} = problemOf(new HoldfastError(code, message))
  return (
    <Banner tone="bad">
      The assistant cannot answer: {words}
      <BannerDetails details={details} />
    </Banner>
  )
}

function isApart(connection: Connection['state']): boolean {
  return connection === 'cut' || connection === 'unreachable'
}

/** Without the server nobody can be asked, so going on here is a promise that may not hold, and has to say so. */
function Elsewhere({
  apart,
  onTakeOver,
  onContinueOffline,
}: {
  apart: boolean
  onTakeOver: () => void
  onContinueOffline: () => void
}) {
  return (
    <div className="retry">
      <p>
        {apart
          ? 'Another device works on this conversation, and the server cannot be asked. You can go on here; if the other device has worked meanwhile, you choose later what becomes of it.'
          : 'Another device works on this conversation. You can write here; its answers arrive here too.'}
      </p>
      <div className="retry-buttons">
        <button type="button" className="button" onClick={onTakeOver} disabled={apart}>
          Take over here
        </button>
        {apart && (
          <button type="button" className="button" onClick={onContinueOffline}>
            Continue here offline
          </button>
        )}
      </div>
    </div>
  )
}

function entries(n: number): string {
  return n === 1 ? 'one entry' : `${n} entries`
}
