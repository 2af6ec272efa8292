import type {IncomingMessage} from 'node:http'
import {createAdaptorServer} from '@hono/node-server'
import * as z from 'zod'
import {checkOptions, filledText, havingMethods, pauseMs, valueThat} from '../runtime/protocol/check-options.ts'
import type {LogLine} from '../runtime/protocol/log-line.ts'
import type {SyncServer} from './index.ts'
import {closeAfterUnread} from './unread-body.ts'

export type NodeHost = {
  url: string
  /** Takes no more requests, lets those under way end, cuts what is left after the grace; waits for operations. */
  close(): Promise<void>
}

const serverSchema = havingMethods('a server, as createSyncServer returns it', ['fetch', 'start', 'close'])
/** A port of another type would be the path of a Unix socket. */
const portSchema = valueThat('a whole number from 0 to 65535', port => {
  return Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535
})
const hostOptions = z.strictObject({port: portSchema, host: filledText.optional(), graceMs: pauseMs.optional()})

/**
 * Serves on Node's own HTTP server, after picking up what an earlier process left open.
 *
 * @throws HoldfastError `misconfigured` naming every wrong option, and the system's error when the port is taken
 * @example
 * const host = await serveNode(server, {port: 8787})
 * process.once('SIGTERM', () => void host.close())
 */
export async function serveNode(
  server: SyncServer,
  options: {
    /** 0 takes any free port. */
    port: number
    /** The address to listen on. Default: `127.0.0.1`. */
    host?: string
    /** Milliseconds that running requests have to end on close. Default: 2,000. */
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
  // The port first: a host that cannot have it must not leave a server running behind its error.
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject)
    http.listen(options.port, host, resolve)
  })
  await server.start()
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
      // A handler outlives its connection: the host may close the database only when the last one is through.
      await Promise.all(underWay)
    },
  }
}

/**
 * Writes log lines as JSON, one a line, for whatever collects the output of the process.
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
