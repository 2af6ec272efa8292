import {useNow} from '../hooks.ts'
import type {Opening} from '../runtime-types.ts'
import {useServices} from '../services.ts'
import {openingWords} from '../words/opening.ts'
import {Icon} from './icon.tsx'

/** Says why the desk is not open and what is tried next; in place of the conversation, or above it. */
export function OpeningNote({opening, above = false}: {opening: Opening; above?: boolean}) {
  const services = useServices()
  const words = openingWords(opening, useNow(1_000))
  if (!words) return null
  // A new worker starts at once, whether one runs or the next one waits for its time.
  const retry = () => void services.runtime().then(runtime => runtime.killWorker())
  return (
    <section
      className={`opening opening-${words.tone}${above ? ' opening-above' : ''}`}
      role={words.tone === 'bad' ? 'alert' : 'status'}
    >
      <h2 className="opening-title">
        <Icon name={words.tone === 'bad' ? 'warning' : 'clock'} />
        {words.title}
      </h2>
      <p>{words.sentences.join(' ')}</p>
      {words.offers === 'retry' && (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
      {words.offers === 'reload' && (
        <button type="button" className="button" onClick={services.reload}>
          Reload
        </button>
      )}
      {words.details && (
        <details className="opening-details">
          <summary>Details</summary>
          <p>{words.details}</p>
        </details>
      )}
    </section>
  )
}
