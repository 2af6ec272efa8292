/**
 * Calls `change` with false when the page is hidden and may enter the back/forward cache, and with true when it is
 * shown again. Returns an unsubscribe function. Does nothing outside of a page.
 */
export function whilePageLives(change: (there: boolean) => void): () => void {
  if (typeof addEventListener !== 'function' || typeof document === 'undefined') return () => undefined
  const hide = () => change(false)
  const show = ({persisted}: PageTransitionEvent) => persisted && change(true)
  addEventListener('pagehide', hide)
  addEventListener('pageshow', show)
  return () => {
    removeEventListener('pagehide', hide)
    removeEventListener('pageshow', show)
  }
}
