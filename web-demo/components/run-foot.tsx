import type {SessionView} from '../runtime-types.ts'
import {lateCorrection, waitingWords} from '../words/session.ts'
import {Banner} from './banner.tsx'

/** What stands between the person and the end of this run: a warning, a wait, or a failure with its way out. */
export function RunFoot({view, onRetry, onTakeOver}: {view: SessionView; onRetry: () => void; onTakeOver: () => void}) {
  const late = lateCorrection(view)
  const waiting = late ? null : waitingWords(view)
  return (
    <div className="run-foot">
      {view.storageFault && (
        <Banner tone="bad">
          This device could not save: {view.storageFault}. Copy what you need before you close the page.
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
      {view.custody === 'elsewhere' && (
        <div className="retry">
          <p>Another device works on this conversation. You can write here; its answers arrive here too.</p>
          <button type="button" className="button" onClick={onTakeOver}>
            Take over here
          </button>
        </div>
      )}
      {waiting && <p className="waiting-for">{waiting}</p>}
    </div>
  )
}

function entries(n: number): string {
  return n === 1 ? 'one entry' : `${n} entries`
}
