import type {Deadlines} from './deadline.ts'
import {watchHeartbeat} from './heartbeat.ts'
import type {LastOwner} from './last-owner.ts'
import {makeWorker} from './make-worker.ts'
import {connectService} from './rpc.ts'
import type {Call} from './target.ts'
import {isOurs, type ToPage, type ToWorker} from './worker-messages.ts'

export interface WorkerStart extends Deadlines {
  /** Creates a module worker whose script calls `hostWorker`. */
  worker(): Worker
  /** Name of the database. Pages of one origin with the same name share it. */
  name: string
  /** Passed to the worker's `open` as a structured clone. A promise is awaited while the script loads. */
  config?: unknown
  /** Id of this build. It must sort after the ids of earlier builds. Default: the URL of the worker's script. */
  build?: string
}

export interface PageWorker {
  call: Call
  /** URL of the worker's script; null when `worker` returned an existing worker. */
  script: string | null
  /** Terminates the worker and rejects its pending calls with `peer_gone`. */
  stop(reason: string): void
}

/** How a worker failed: its script could not be loaded, threw an error, or missed its heartbeat. */
export type Death = {how: 'not_loaded' | 'crashed' | 'silent'; details: string}

/** Starts and watches one worker. On `died` the caller must stop the worker. */
export function startPageWorker(
  {worker: make, name, config, build, lastOwner, ...deadlines}: WorkerStart & {lastOwner: LastOwner | null},
  {hear, died}: {hear(message: ToPage): void; died(death: Death): void},
): PageWorker {
  const {worker, script} = makeWorker(make)
  const {port1, port2} = new MessageChannel()
  const connection = connectService(port1, deadlines)
  const post = (message: ToWorker, transfer: Transferable[] = []) => worker.postMessage(message, transfer)
  let ended = false
  const end = (death: Death) => {
    if (ended) return
    ended = true
    died(death)
  }
  const heartbeat = watchHeartbeat({
    ping: () => post({holdfast: 'ping'}),
    dead: () => end({how: 'silent', details: 'The worker gave no answer for 20 s.'}),
  })
  worker.onerror = event => {
    // The event has no message when the script could not be loaded.
    const {message} = event
    end(message ? {how: 'crashed', details: message} : {how: 'not_loaded', details: 'Its script could not be loaded.'})
  }
  worker.onmessage = event => {
    if (!isOurs<ToPage>(event.data)) return
    heartbeat.heard()
    hear(event.data)
  }
  const loadedAt = performance.timeOrigin
  const init = {holdfast: 'init', name, port: port2, deadlines, build: build ?? null, loadedAt, lastOwner} as const
  Promise.resolve(config).then(
    value => {
      if (!ended) post({...init, config: value}, [port2])
    },
    error => end({how: 'crashed', details: String(error)}),
  )

  return {
    call: connection.call,
    script,
    stop(reason) {
      ended = true
      heartbeat.stop()
      worker.onerror = null
      worker.onmessage = null
      worker.terminate()
      connection.fail(reason)
      port1.close()
    },
  }
}
