import {Component, type ReactNode} from 'react'

type Props = {
  children: ReactNode
  /** Stands in place of children that could not be rendered. Must not fail itself: plain text, no parsing. */
  fallback: ReactNode | ((error: Error, retry: () => void) => ReactNode)
  /** The children are tried again when this changes. */
  shows?: unknown
}
type State = {failed: {error: Error; shows: unknown} | null}

/** Keeps a fault of one part from taking the page down: React removes everything up to the next boundary. */
export class Boundary extends Component<Props, State> {
  override state: State = {failed: null}

  static getDerivedStateFromError(error: unknown): State {
    return {failed: {error: error instanceof Error ? error : new Error(String(error)), shows: undefined}}
  }

  static getDerivedStateFromProps({shows}: Props, {failed}: State): State | null {
    if (!failed) return null
    if (failed.shows === undefined) return {failed: {...failed, shows: shows ?? null}}
    return failed.shows === (shows ?? null) ? null : {failed: null}
  }

  override render(): ReactNode {
    const {children, fallback} = this.props
    const {failed} = this.state
    if (!failed) return children
    return typeof fallback === 'function' ? fallback(failed.error, () => this.setState({failed: null})) : fallback
  }
}

/** A boundary for a part of the page that has no text of its own to fall back to. */
export function Part({name, children, shows}: {name: string; children: ReactNode; shows?: unknown}) {
  return (
    <Boundary
      shows={shows}
      fallback={(error, retry) => (
        <div className="part-failed" role="status">
          <p>{name} could not be shown.</p>
          <details>
            <summary>Details</summary>
            <p className="plain-text">{error.message}</p>
          </details>
          <button type="button" className="button" onClick={retry}>
            Try again
          </button>
        </div>
      )}
    >
      {children}
    </Boundary>
  )
}
