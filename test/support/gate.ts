/** Holds whatever arrives until it is opened, and tells how much has arrived. */
export interface Gate {
  /** Resolves when the `n`th has arrived. */
  reached(n: number): Promise<void>
  /** Lets everything pass, what is held and what comes later. */
  open(): void
  /** Called by what arrives: resolves when it may go on. */
  pass(): Promise<void>
}

export function createGate(): Gate {
  let arrived = 0
  const waiting = new Set<() => void>()
  let letAllPass: () => void = () => {}
  const opened = new Promise<void>(resolve => {
    letAllPass = resolve
  })
  return {
    reached: n =>
      new Promise(resolve => {
        const look = () => {
          if (arrived < n) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    open: letAllPass,
    pass() {
      arrived += 1
      for (const look of [...waiting]) look()
      return opened
    },
  }
}
