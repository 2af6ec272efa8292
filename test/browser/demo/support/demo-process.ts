import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'

export interface DemoProcess {
  port: number
  /** Ends it with this signal, and resolves when it is gone. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

export type DemoSettings = {dataDir: string; port?: number; modelUrl?: string}

/** Runs the built server as a process of its own, as `npm start` does, and resolves when it says where it is. */
export async function startDemo(settings: DemoSettings): Promise<DemoProcess> {
  const child = spawnDemo(settings)
  const {said, exited} = listen(child)
  const url = await Promise.race([said(/Refund desk on (\S+),/), exited])
  if (typeof url !== 'string') throw new Error(`The server ended with ${url.code}: ${url.output}`)
  return {
    port: Number(new URL(url).port),
    async end(signal) {
      child.kill(signal)
      await exited
    },
  }
}

/** Starts a server that is expected to give up, and resolves with what it said. */
export async function startInVain(settings: DemoSettings): Promise<{code: number | null; output: string}> {
  return await listen(spawnDemo(settings)).exited
}

function spawnDemo({dataDir, port = 0, modelUrl}: DemoSettings): ChildProcess {
  const model = {HOLDFAST_MODEL_URL: modelUrl, HOLDFAST_MODEL: 'scripted', HOLDFAST_MODEL_KEY: 'a key that stays here'}
  const {PATH, HOME} = process.env
  return spawn(process.execPath, ['dist/server/server.js'], {
    env: {PATH, HOME, HOLDFAST_DATA: dataDir, PORT: String(port), ...(modelUrl && model)},
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function listen(child: ChildProcess) {
  let output = ''
  const take = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout?.on('data', take)
  child.stderr?.on('data', take)
  const exited = once(child, 'close').then(([code]) => ({code: code as number | null, output}))
  const said = (pattern: RegExp) =>
    new Promise<string>(resolve => {
      child.stdout?.on('data', () => {
        const found = pattern.exec(output)?.[1]
        if (found) resolve(found)
      })
    })
  return {said, exited}
}
