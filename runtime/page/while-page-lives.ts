/**
 * Calls `change` with false when the page is left and may be kept for the way back, and with true when it is shown again.
 * Returns how to stop; does nothing outside of a page.
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
