import {useEffect, useMemo, useState} from 'react'
import {type Run, useLatest} from '../hooks.ts'
import type {BrowserRuntime, MemoryRecord, MemoryView, RecalledMemory} from '../runtime-types.ts'

export function useMemory(runtime: BrowserRuntime | null): MemoryView | null {
  const subscribe = useMemo(() => (runtime ? runtime.memory.subscribe.bind(runtime.memory) : null), [runtime])
  return useLatest<MemoryView | null>(subscribe, null)
}

/** What a question finds; asked again when memory has changed. */
export function useRecall(
  runtime: BrowserRuntime | null,
  view: MemoryView | null,
  query: string,
  run: Run,
): RecalledMemory[] | null {
  const [found, setFound] = useState<{query: string; recalled: RecalledMemory[]} | null>(null)
  useEffect(() => {
    let current = true
    if (!runtime || !view || query.trim() === '') return
    void run(async () => {
      const recalled = await runtime.memory.recall({query, limit: 8})
      if (current) setFound({query, recalled})
    })
    return () => {
      current = false
    }
  }, [runtime, view, query, run])
  return found?.query === query ? found.recalled : null
}

/** Milliseconds in which a forgotten item can be taken back; it is sent to the server only then. */
const undoMs = 6_000

export type Forgotten = {text: string; undo: () => void}

export function useForget(runtime: BrowserRuntime | null, run: Run) {
  const [forgotten, setForgotten] = useState<Forgotten | null>(null)
  useEffect(() => {
    if (!forgotten) return
    const timer = setTimeout(() => setForgotten(null), undoMs)
    return () => clearTimeout(timer)
  }, [forgotten])
  const forget = (item: MemoryRecord) =>
    run(async () => {
      const change = await runtime?.memory.forget(item.id, {undoMs})
      const undo = () =>
        void run(async () => {
          setForgotten(null)
          if (!(await change?.undo())) throw new Error('It was sent already, so it stays forgotten.')
        })
      setForgotten({text: item.text, undo})
    })
  return {forgotten, forget}
}
