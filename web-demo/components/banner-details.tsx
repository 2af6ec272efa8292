/** The technical part of a message in a banner, shown on request. */
export function BannerDetails({details}: {details: string | null | undefined}) {
  if (!details) return null
  return (
    <details className="banner-details">
      <summary>Details</summary>
      {details}
    </details>
  )
}
