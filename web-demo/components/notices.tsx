import {useMemo} from 'react'
import {useLatest} from '../hooks.ts'
import type {BrowserRuntime, Opening} from '../runtime-types.ts'
import {RecoveryNote} from './recovery-note.tsx'
import {UpdateNote} from './update-note.tsx'

/** What concerns the whole desk, whichever conversation shows. */
export function Notices({runtime}: {runtime: BrowserRuntime | null}) {
  const subscribe = useMemo(() => runtime?.opening.subscribe ?? null, [runtime])
  const opening = useLatest<Opening | null>(subscribe, null)
  return (
    <>
      <UpdateNote runtime={runtime} />
      {opening?.state === 'open' && opening.storage && <RecoveryNote storage={opening.storage} />}
    </>
  )
}
