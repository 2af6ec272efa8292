import {useCallback, useLayoutEffect, useRef, useState} from 'react'
import type {Run} from '../hooks.ts'
import type {Session, SessionView, TranscriptEntry} from '../runtime-types.ts'

export type History = {
  /** Entries above those of the view, oldest first. */
  above: readonly TranscriptEntry[]
  /** There are more above these. */
  earlier: boolean
  loading: boolean
  showEarlier: () => void
}

type Held = {session: string; above: TranscriptEntry[]; earlier: boolean}

/** Reads what lies above the view, page by page. Entries that leave the view while more is read stay in between. */
export function useHistory(session: Session | null, view: SessionView, run: Run): History {
  const [held, setHeld] = useState<Held | null>(null)
  const [loading, setLoading] = useState(false)
  const own = held?.session === view.session ? held : null
  const before = useRef<SessionView>(view)
  useLayoutEffect(() => {
    const left = leftAbove(before.current, view)
    before.current = view
    if (left.length > 0) setHeld(now => now && {...now, above: [...now.above, ...left]})
  }, [view])
  const first = own?.above[0] ?? view.entries[0]
  const showEarlier = useCallback(() => {
    if (!session || !first) return
    setLoading(true)
    void run(async () => {
      const page = await session.history({before: first.id})
      setHeld(now => {
        const above = now?.session === session.id ? now.above : []
        return {session: session.id, above: [...page.entries, ...above], earlier: page.earlier}
      })
    }).finally(() => setLoading(false))
  }, [session, first, run])
  return {above: own?.above ?? [], earlier: own?.earlier ?? view.earlier, loading, showEarlier}
}

/** Entries at the beginning of the earlier view that the later one no longer has. */
export function leftAbove(before: SessionView, now: SessionView): TranscriptEntry[] {
  const [first] = now.entries
  if (before.session !== now.session || !first || before === now) return []
  const place = before.entries.findIndex(entry => entry.id === first.id)
  return place > 0 ? before.entries.slice(0, place) : []
}
