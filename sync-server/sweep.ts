/** Repeats `round` with `everyMs` between two, never two at once; returns a function that stops it and waits. */
export function repeat(
  round: () => Promise<void>,
  everyMs: number,
  onFault: (error: unknown) => void,
): () => Promise<void> {
  let stopped = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let under: Promise<void> = Promise.resolve()
  const arm = () => {
    timer = setTimeout(() => {
      under = round()
        .catch(onFault)
        .finally(() => {
          if (!stopped) arm()
        })
    }, everyMs)
  }
  arm()
  return () => {
    stopped = true
    clearTimeout(timer)
    return under
  }
}
