/**
 * `localStorage` and `sessionStorage` where they may be missing, forbidden or full: a page must not fail because it could
 * not keep a text. `write` says whether the value was kept.
 */
export type SafeStorage = {
  read(key: string): string | null
  write(key: string, value: string): boolean
  remove(key: string): void
  keys(): string[]
}

export function safeStorage(area: () => Storage): SafeStorage {
  // Access itself throws a SecurityError where the browser forbids site data.
  const attempt = <T>(work: (storage: Storage) => T, otherwise: T): T => {
    try {
      return work(area())
    } catch {
      return otherwise
    }
  }
  return {
    read: key => attempt(storage => storage.getItem(key), null),
    write: (key, value) =>
      attempt(storage => {
        storage.setItem(key, value)
        return true
      }, false),
    remove: key => attempt(storage => storage.removeItem(key), undefined),
    keys: () => attempt(storage => Object.keys(storage), []),
  }
}

export const local = safeStorage(() => localStorage)
export const ofTab = safeStorage(() => sessionStorage)
