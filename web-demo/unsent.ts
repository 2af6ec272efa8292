/** Text that was typed and not sent, by conversation; "new" is the one that has not started. It outlives the page. */
export function kept(key: string): string {
  return localStorage.getItem(`unsent:${key}`) ?? ''
}

export function keep(key: string, text: string): void {
  if (text === '') localStorage.removeItem(`unsent:${key}`)
  else localStorage.setItem(`unsent:${key}`, text)
}

/** What was typed where nothing can be sent any more goes on in the next conversation; what waits there already stays. */
export function moveToNew(key: string): void {
  if (kept('new') === '') keep('new', kept(key))
  else if (kept(key) !== '') keep('new', `${kept('new')}\n\n${kept(key)}`)
  keep(key, '')
}
