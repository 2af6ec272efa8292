import {useMemo} from 'react'
import {useLatest} from '../hooks.ts'
import type {BrowserRuntime} from '../runtime-types.ts'
import {useServices} from '../services.ts'
import {Banner} from './banner.tsx'

/** Offers a newer version of the page. A page that opens no runtime passes null. */
export function UpdateNote({runtime}: {runtime: BrowserRuntime | null}) {
  const {updates} = useServices()
  const published = useLatest(updates.subscribe, false)
  const subscribe = useMemo(() => runtime?.newerBuild.subscribe ?? null, [runtime])
  const elsewhere = useLatest<unknown>(subscribe, null)
  if (!published && !elsewhere) return null
  return (
    <Banner tone="waiting">
      {elsewhere
        ? 'Another tab runs a newer version and has the data now. This tab still shows the old one.'
        : 'A new version of this page is ready. Text that you typed is kept.'}{' '}
      <button type="button" className="button button-small" onClick={updates.apply}>
        Reload
      </button>
    </Banner>
  )
}
