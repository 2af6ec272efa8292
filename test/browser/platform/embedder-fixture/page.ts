declare global {
  interface Window {
    /** Embeds in a worker of its own, with the model's files of this folder; rejects with what the worker says. */
    embed(url: string, texts: string[]): Promise<number[][]>
  }
}

window.embed = (url, texts) =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./embedder.worker.ts', import.meta.url), {type: 'module'})
    worker.onerror = event => reject(new Error(`The worker ended: ${event.message}`))
    worker.onmessage = ({data}: MessageEvent<{vectors: number[][]} | {failed: string}>) => {
      worker.terminate()
      if ('vectors' in data) resolve(data.vectors)
      else reject(new Error(data.failed))
    }
    worker.postMessage({url, texts})
  })

export {}
