/**
 * Whether a key sends what is typed. An input method takes Enter to finish a word; some browsers then say so only by key
 * code 229, others only by `isComposing`.
 */
export function sendsOn(
  event: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'altKey' | 'isComposing' | 'keyCode'>,
): boolean {
  return event.key === 'Enter' && !event.shiftKey && !event.altKey && !isComposing(event)
}

/** The event belongs to an input method, not to the page. */
export function isComposing({isComposing, keyCode}: Pick<KeyboardEvent, 'isComposing' | 'keyCode'>): boolean {
  return isComposing || keyCode === 229
}

/** For a form: an Enter that belongs to an input method must not submit it. */
export function keepComposing(event: {nativeEvent: KeyboardEvent; key: string; preventDefault(): void}): void {
  if (event.key === 'Enter' && isComposing(event.nativeEvent)) event.preventDefault()
}
