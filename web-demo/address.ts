/** Where a conversation is shown; without one, a new conversation. */
export function addressOf(session: string | null): string {
  return session === null ? '/' : `/?session=${session}`
}
