/** How much of what somebody wrote is only on this device. */
export function unsentWords(unsent: number): string {
  if (unsent === 0) return 'Everything has reached the server.'
  return unsent === 1 ? '1 entry has not reached the server.' : `${unsent} entries have not reached the server.`
}

/** What deleting this person's data from this browser means now. */
export function wipeSentences(name: string, unsent: number): string[] {
  const kept = `Conversations and memory of ${name} are deleted from this browser. What the server has stays there.`
  if (unsent === 0) return [kept, 'Nothing is lost: everything has reached the server.']
  return [kept, `${unsentWords(unsent)} ${unsent === 1 ? 'It is' : 'They are'} lost for good.`]
}
