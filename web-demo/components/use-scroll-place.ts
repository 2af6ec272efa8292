import {type RefObject, useEffect, useLayoutEffect, useRef} from 'react'

/** Pixels from the end within which a reader counts as being at the end. */
const nearEnd = 64

/**
 * Follows new text while the reader is at the end. While they read further up, the line that they look at keeps its
 * place, whatever comes in or goes above it.
 */
export function useScrollPlace(...shown: [view: unknown, above: unknown]): RefObject<HTMLElement | null> {
  const scroller = useRef<HTMLElement>(null)
  const atEnd = useRef(true)
  const anchor = useRef<{element: HTMLElement; top: number} | null>(null)
  useEffect(() => {
    const element = scroller.current
    const note = () => {
      if (!element) return
      atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < nearEnd
      anchor.current = firstVisible(element)
    }
    // A composer that grows, a note or a turned phone takes room: the end stays in sight for whoever was there.
    const resized = new ResizeObserver(() => {
      if (element && atEnd.current) element.scrollTop = element.scrollHeight
    })
    if (element) resized.observe(element)
    element?.addEventListener('scroll', note, {passive: true})
    return () => {
      resized.disconnect()
      element?.removeEventListener('scroll', note)
    }
  }, [])
  const [view, above] = shown
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown decides the heights, though no line reads it.
  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    const kept = anchor.current
    if (atEnd.current) element.scrollTop = element.scrollHeight
    else if (kept?.element.isConnected) element.scrollTop += topOf(kept.element) - kept.top
    anchor.current = firstVisible(element)
  }, [view, above])
  return scroller
}

function firstVisible(scroller: HTMLElement): {element: HTMLElement; top: number} | null {
  const edge = topOf(scroller)
  for (const element of scroller.querySelectorAll<HTMLElement>('.entries > .entry')) {
    const {top, bottom} = element.getBoundingClientRect()
    if (bottom > edge) return {element, top}
  }
  return null
}

function topOf(element: HTMLElement): number {
  return element.getBoundingClientRect().top
}
