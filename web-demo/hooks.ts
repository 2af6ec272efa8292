import {useCallback, useEffect, useState, useSyncExternalStore} from 'react'

/** The latest value of a subscription; starts again when the source changes, and forgets the old source's value. */
export function useLatest<Value>(
  subscribe: ((listener: (value: Value) => void) => () => void) | null,
  initial: Value,
): Value {
  const [held, setHeld] = useState<{from: typeof subscribe; value: Value}>({from: subscribe, value: initial})
  useEffect(() => subscribe?.(value => setHeld({from: subscribe, value})), [subscribe])
  return held.from === subscribe ? held.value : initial
}

export type Run = (action: () => Promise<unknown>) => Promise<boolean>

/** Runs what a click asks for; what it throws becomes a sentence on the page instead of a silent nothing. */
export function useAction(): {problem: string | null; run: Run; dismiss: () => void} {
  const [problem, setProblem] = useState<string | null>(null)
  const run = useCallback<Run>(async action => {
    try {
      await action()
      setProblem(null)
      return true
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      return false
    }
  }, [])
  return {problem, run, dismiss: useCallback(() => setProblem(null), [])}
}

/** The path and query of the page, and a way to change them that keeps the page alive. */
export function useLocation(): {path: string; session: string | null; as: string | null; view: string | null} {
  const href = useSyncExternalStore(onNavigation, () => location.pathname + location.search)
  const url = new URL(href, location.origin)
  const {searchParams} = url
  return {
    path: url.pathname,
    session: searchParams.get('session'),
    as: searchParams.get('as'),
    view: searchParams.get('view'),
  }
}

function onNavigation(listener: () => void): () => void {
  addEventListener('popstate', listener)
  return () => removeEventListener('popstate', listener)
}

export function navigate(to: string, {replace = false}: {replace?: boolean} = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  dispatchEvent(new PopStateEvent('popstate'))
}

/** The time of day, again every `everyMs`, for words like "3 minutes ago". */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
