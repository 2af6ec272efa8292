/** The shape of the desk while the runtime opens; the same markup as in index.html, so that nothing jumps. */
export function DeskSkeleton() {
  return (
    <div className="skeleton" role="status">
      <span className="visually-hidden">Opening the desk</span>
      <p className="skeleton-bubble" />
      <p className="skeleton-lines" />
    </div>
  )
}
