/** Text that was typed and not sent, by conversation; "new" is the one that has not started. It outlives the page. */
export function kept(key: string): string {
  return localStorage.getItem(`unsent:${key}`) ?? ''
}

export function keep(key: string, text: string): void {
  if (text === '') localStorage.removeItem(`unsent:${key}`)
  else localStorage.setItem(`unsent:${key}`, text)
}
