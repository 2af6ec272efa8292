/** Where a conversation is shown; without one, a new conversation. */
export function addressOf(session: string | null): string {
  return session === null ? '/' : `/?session=${encodeURIComponent(session)}`
}

/** Where a conversation is shown as plain text, with nothing parsed. */
export function plainAddressOf(session: string): string {
  return `${addressOf(session)}&view=text`
}
