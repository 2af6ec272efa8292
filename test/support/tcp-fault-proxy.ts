import {once} from 'node:events'
import {connect, createServer, type Socket} from 'node:net'

/** A TCP line to a port of the loopback that does what lines do: breaks, goes silent, refuses. */
export interface TcpFaultProxy {
  readonly port: number
  /** Carries nothing in either direction until `heal`; connections stay open, new ones are accepted and stay silent. */
  silence(): void
  /** Resets every connection. */
  reset(): void
  /** Resets every connection and each new one until `heal`. */
  refuse(): void
  heal(): void
  close(): Promise<void>
}

/**
 * Passes connections on to `target`.
 *
 * @example
 * const line = await tcpFaultProxy(5432)
 * line.silence()
 */
export async function tcpFaultProxy(target: number): Promise<TcpFaultProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let mode: 'open' | 'silent' | 'refusing' = 'open'
  const server = createServer(client => {
    if (mode === 'refusing') return void client.resetAndDestroy()
    const upstream = connect(target, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.on('data', bytes => to.write(bytes))
      from.on('error', () => undefined)
      from.on('close', () => {
        // A silent line does not tell either end that the other is gone.
        if (mode === 'silent') return
        pairs.delete(pair)
        to.destroy()
      })
    }
    if (mode === 'silent') for (const socket of pair) socket.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('no port')
  const reset = () => {
    for (const [client, upstream] of pairs) {
      client.resetAndDestroy()
      upstream.resetAndDestroy()
    }
    pairs.clear()
  }
  return {
    port: address.port,
    silence: () => {
      mode = 'silent'
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    reset,
    refuse: () => {
      mode = 'refusing'
      reset()
    },
    heal: () => {
      mode = 'open'
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    close: async () => {
      reset()
      server.close()
      await once(server, 'close')
    },
  }
}
