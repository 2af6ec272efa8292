import type {IncomingMessage} from 'node:http'
import {createAdaptorServer} from '@hono/node-server'
import * as z from 'zod'
import {checkOptions, filledText, havingMethods, pauseMs, valueThat} from '../runtime/protocol/check-options.ts'
import type {LogLine} from '../runtime/protocol/log-line.ts'
import type {SyncServer} from './index.ts'
import {closeAfterUnread} from './unread-body.ts'

export type NodeHost = {
  url: string
  /**
   * Stops accepting requests, waits for running ones, and closes the remaining connections after `graceMs`. Then
   * waits for running operations.
   */
  close(): Promise<void>
}

const serverSchema = havingMethods('a server, as createSyncServer returns it', ['fetch', 'start', 'close'])
/** Node would treat a string as the path of a Unix socket. */
const portSchema = valueThat('a whole number from 0 to 65535', port => {
  return Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535
})
const hostOptions = z.strictObject({port: portSchema, host: filledText.optional(), graceMs: pauseMs.optional()})

/**
 * Serves on Node's HTTP server and starts the sync server.
 *
 * @throws HoldfastError `misconfigured` naming every invalid option. Rejects with the system error if the port is in
 * use.
 * @example
 * const host = await serveNode(server, {port: 8787})
 * process.once('SIGTERM', () => void host.close())
 */
export async function serveNode(
  server: SyncServer,
  options: {
    /** Port to listen on. 0 selects a free port. */
    port: number
    /** Address to listen on. Default: `127.0.0.1`. */
    host?: string
    /** Milliseconds that running requests may take after `close`. Default: 2,000. */
    graceMs?: number
  },
): Promise<NodeHost> {
  checkOptions(serverSchema, server, 'serveNode: server')
  checkOptions(hostOptions, options, 'serveNode')
  const host = options.host ?? '127.0.0.1'
  const underWay = new Set<Promise<unknown>>()
  const http = createAdaptorServer({
    fetch: (request, {incoming}) => {
      const answer = Promise.resolve(server.fetch(request)).then(given =>
        'httpVersionMajor' in incoming ? closeAfterUnread(given, incoming as IncomingMessage) : given,
      )
      const done = answer.catch(() => undefined).finally(() => underWay.delete(done))
      underWay.add(done)
      return answer
    },
  })
  // Bind the port before starting the server: if binding fails, no server must be left running.
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(options.port, host, resolve)
  })
  try {
    await server.start()
  } catch (error) {
    http.close()
    if ('closeAllConnections' in http) http.closeAllConnections()
    throw error
  }
  const address = http.address()
  const port = typeof address === 'object' && address ? address.port : options.port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: async () => {
      const closed = new Promise<void>(resolve => http.close(() => resolve()))
      const cut = setTimeout(() => {
        if ('closeAllConnections' in http) http.closeAllConnections()
      }, options.graceMs ?? 2000)
      await Promise.all([server.close(), closed])
      clearTimeout(cut)
      // A handler can outlive its connection. The host may close the database only after the last handler has ended.
      await Promise.all(underWay)
    },
  }
}

/**
 * Returns a `log` function that writes each log line as one line of JSON.
 *
 * @example
 * const server = createSyncServer({store, authenticate, log: jsonLines()})
 */
export function jsonLines(out: {write(text: string): unknown} = process.stdout): (line: LogLine) => void {
  checkOptions(havingMethods('a stream with write', ['write']), out, 'jsonLines')
  return ({time, level, event, message, fields, error}) => {
    const line = {time: new Date(time).toISOString(), level, event, message, ...fields, ...(error && {error})}
    out.write(`${JSON.stringify(line)}\n`)
  }
}
