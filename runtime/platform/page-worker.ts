import type {Deadlines} from './deadline.ts'
import {watchHeartbeat} from './heartbeat.ts'
import {connectService} from './rpc.ts'
import type {Call} from './target.ts'
import {isOurs, type ToPage, type ToWorker} from './worker-messages.ts'

export interface WorkerStart extends Deadlines {
  /** Makes a fresh module worker whose script calls `hostWorker`. */
  worker(): Worker
  /** Names the database; every page of one origin that gives this name shares it. */
  name: string
  /** Handed to the worker's `open` as a structured clone. */
  config?: unknown
}

export interface PageWorker {
  call: Call
  /** Terminates the worker and rejects what it had not answered. */
  stop(reason: string): void
}

/** Starts one worker and watches it; `died` is called at most once and leaves it to the caller to stop it. */
export function startPageWorker(
  {worker: make, name, config, ...deadlines}: WorkerStart,
  {hear, died}: {hear(message: ToPage): void; died(reason: string): void},
): PageWorker {
  const worker = make()
  const {port1, port2} = new MessageChannel()
  const connection = connectService(port1, deadlines)
  const post = (message: ToWorker, transfer: Transferable[] = []) => worker.postMessage(message, transfer)
  const heartbeat = watchHeartbeat({
    ping: () => post({holdfast: 'ping'}),
    dead: () => died('The worker no longer answered.'),
  })
  worker.onerror = event => died(`The worker crashed: ${event.message ?? 'its script could not be loaded'}.`)
  worker.onmessage = event => {
    if (!isOurs<ToPage>(event.data)) return
    heartbeat.heard()
    hear(event.data)
  }
  post({holdfast: 'init', name, config, port: port2, deadlines}, [port2])

  return {
    call: connection.call,
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
