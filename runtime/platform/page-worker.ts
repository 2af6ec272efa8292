import type {Deadlines} from './deadline.ts'
import {watchHeartbeat} from './heartbeat.ts'
import type {LastOwner} from './last-owner.ts'
import {makeWorker} from './make-worker.ts'
import {connectService} from './rpc.ts'
import type {Call} from './target.ts'
import {isOurs, type ToPage, type ToWorker} from './worker-messages.ts'

export interface WorkerStart extends Deadlines {
  /** Makes a fresh module worker whose script calls `hostWorker`. */
  worker(): Worker
  /** Names the database; every page of one origin that gives this name shares it. */
  name: string
  /** Handed to the worker's `open` as a structured clone; a promise is waited for while the script loads. */
  config?: unknown
  /** Names this build; sorts after the names of earlier builds. Default: the address of the worker's script. */
  build?: string
}

export interface PageWorker {
  call: Call
  /** Where the worker's script is; null when `worker` did not make it itself. */
  script: string | null
  /** Terminates the worker and rejects what it had not answered. */
  stop(reason: string): void
}

/** How a worker ended: its script was not there, what it ran threw, or it was silent. */
export type Death = {how: 'not_loaded' | 'crashed' | 'silent'; details: string}

/** Starts one worker and watches it; `died` is called at most once and leaves it to the caller to stop it. */
export function startPageWorker(
  {worker: make, name, config, build, lastOwner, ...deadlines}: WorkerStart & {lastOwner: LastOwner | null},
  {hear, died}: {hear(message: ToPage): void; died(death: Death): void},
): PageWorker {
  const {worker, script} = makeWorker(make)
  const {port1, port2} = new MessageChannel()
  const connection = connectService(port1, deadlines)
  const post = (message: ToWorker, transfer: Transferable[] = []) => worker.postMessage(message, transfer)
  const heartbeat = watchHeartbeat({
    ping: () => post({holdfast: 'ping'}),
    dead: () => died({how: 'silent', details: 'The worker gave no answer for 20 s.'}),
  })
  worker.onerror = event => {
    // A script that cannot be loaded gives an event without a message; one that throws says what.
    const {message} = event
    died(message ? {how: 'crashed', details: message} : {how: 'not_loaded', details: 'Its script could not be loaded.'})
  }
  worker.onmessage = event => {
    if (!isOurs<ToPage>(event.data)) return
    heartbeat.heard()
    hear(event.data)
  }
  const loadedAt = performance.timeOrigin
  const init = {holdfast: 'init', name, port: port2, deadlines, build: build ?? null, loadedAt, lastOwner} as const
  Promise.resolve(config).then(
    value => post({...init, config: value}, [port2]),
    error => died({how: 'crashed', details: String(error)}),
  )

  return {
    call: connection.call,
    script,
    stop(reason) {
      heartbeat.stop()
      worker.onerror = null
      worker.onmessage = null
      worker.terminate()
      connection.fail(reason)
      port1.close()
    },
  }
}
