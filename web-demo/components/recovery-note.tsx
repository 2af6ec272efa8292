import {useState} from 'react'
import {recoverySentences, type StorageState} from '../../runtime/index.ts'
import {local} from '../safe-storage.ts'
import {Banner} from './banner.tsx'

const dismissedKey = 'dismissed-recovery'

/** What became of data that could not be opened as it was left, and storage that keeps nothing. */
export function RecoveryNote({storage: {kind, recovery}}: {storage: StorageState}) {
  const [dismissed, setDismissed] = useState(() => local.read(dismissedKey))
  const dismiss = (id: string) => {
    local.write(dismissedKey, id)
    setDismissed(id)
  }
  return (
    <>
      {kind === 'memory' && (
        <Banner tone="bad">
          The browser does not let this page store anything: what you write here is lost when the page is closed.
        </Banner>
      )}
      {recovery && recovery.id !== dismissed && (
        <Banner tone="waiting" onDismiss={() => dismiss(recovery.id)}>
          {recoverySentences(recovery).join(' ')}
          <details className="banner-details">
            <summary>Details</summary>
            <ul>
              {recovery.sessions.map(({session, title, restored, refilling, lost}) => (
                <li key={session}>
                  {title ?? session}: {restored} restored, {refilling} to be fetched again,{' '}
                  {lost ?? 'an unknown number'} lost
                </li>
              ))}
            </ul>
            {recovery.detail}
          </details>
        </Banner>
      )}
    </>
  )
}
