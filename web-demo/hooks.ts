import {useCallback, useEffect, useState, useSyncExternalStore} from 'react'
import {type Problem, problemOf} from './words/problem.ts'

/** The latest value of a subscription; starts again when the source changes, and forgets the old source's value. */
export function useLatest<Value>(
  subscribe: ((listener: (value: Value) => void) => () => void) | null,
  initial: Value,
): Value {
  const [held, setHeld] = useState<{from: typeof subscribe; value: Value}>({from: subscribe, value: initial})
  useEffect(() => subscribe?.(value => setHeld({from: subscribe, value})), [subscribe])
  return held.from === subscribe ? held.value : initial
}

/** `about` names what the action is about: its next success takes back what its last failure said. */
export type Run = (action: () => Promise<unknown>, about?: string) => Promise<boolean>

export type ShownProblem = Problem & {id: string}

const mostProblems = 3

/**
 * Runs what a click asks for; what it throws becomes a sentence on the page instead of a silent nothing. It stays until it
 * is dismissed or the same thing works: the success of one action says nothing about another.
 */
export function useAction(): {problems: readonly ShownProblem[]; run: Run; dismiss: (id: string) => void} {
  const [problems, setProblems] = useState<readonly ShownProblem[]>([])
  const dismiss = useCallback((id: string) => setProblems(before => before.filter(problem => problem.id !== id)), [])
  const run = useCallback<Run>(
    async (action, about) => {
      try {
        await action()
        if (about !== undefined) dismiss(about)
        return true
      } catch (error) {
        const problem = problemOf(error)
        const id = about ?? problem.words
        setProblems(before => [...before.filter(shown => shown.id !== id), {...problem, id}].slice(-mostProblems))
        return false
      }
    },
    [dismiss],
  )
  return {problems, run, dismiss}
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
