import type {ReactNode} from 'react'
import {Icon} from './icon.tsx'

/** Something that the person has to know now; errors interrupt a screen reader, warnings wait their turn. */
export function Banner({
  tone,
  children,
  onDismiss,
}: {
  tone: 'bad' | 'waiting'
  children: ReactNode
  onDismiss?: () => void
}) {
  return (
    <div className={`banner banner-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon name="warning" />
      <div className="banner-text">{children}</div>
      {onDismiss && (
        <button type="button" className="button-icon" onClick={onDismiss} aria-label="Dismiss">
          <Icon name="close" />
        </button>
      )}
    </div>
  )
}
