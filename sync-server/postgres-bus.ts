import pg from 'pg'
import * as z from 'zod'
import {checkOptions, filledText, functionSchema, positiveMs} from '../runtime/protocol/check-options.ts'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {type LogLine, loggedError, openLog} from '../runtime/protocol/log-line.ts'
import {withDeadline} from './authority/deadline.ts'
import {type Bus, createBus, type Poke} from './bus.ts'
import {type BusMessage, BusOutbox, readBusMessage} from './bus-outbox.ts'
import {BusPeers} from './bus-peers.ts'
import {postgresUrl} from './postgres-url.ts'

export type PostgresBusOptions = {
  /**
   * Connection URL, for example `postgres://user:password@host:5432/database`. Must be a direct connection: a
   * transaction pooler does not forward notifications.
   */
  url: string
  /** Name of the LISTEN/NOTIFY channel. All processes of one server must use the same name. Default: `holdfast`. */
  channel?: string
  /** Milliseconds between two heartbeats; a process that misses three counts as dead. Default: 10,000. */
  heartbeatMs?: number
  /** Receives a log line when the connection is lost and when it is restored. */
  log?: (line: LogLine) => void
}

export interface PostgresBus extends Bus {
  /** Sends the queued pokes, notifies the other processes that this one leaves, and ends the connection. */
  close(): Promise<void>
}

const busOptions = z.strictObject({
  url: postgresUrl,
  channel: filledText.optional(),
  heartbeatMs: positiveMs.optional(),
  log: functionSchema.optional(),
})

/**
 * Opens a bus that carries pokes between the processes on one Postgres database. It holds one connection in addition
 * to the pool, for LISTEN and NOTIFY.
 *
 * Delivery is at least once, or replaced by `missed`: unsent pokes are queued until the connection is back. Listeners
 * receive `missed` after this process lost its connection, and after another process fell silent without leaving,
 * because it may have crashed between its commit and its notification. [SYNC-3]
 *
 * @throws HoldfastError `misconfigured` naming every invalid option, and if Postgres cannot be reached. Errors never
 * contain the password.
 * @example
 * const bus = await openPostgresBus({url: process.env.DATABASE_URL})
 * const server = createSyncServer({store, authenticate, facts, operations: {}, bus, sharesDatabase: true})
 */
export async function openPostgresBus(options: PostgresBusOptions): Promise<PostgresBus> {
  checkOptions(busOptions, options, 'openPostgresBus')
  const bus = new ListeningBus(options)
  await bus.open()
  return bus
}

const firstPauseMs = 100
const longestPauseMs = 10_000

class ListeningBus implements PostgresBus {
  readonly #name = crypto.randomUUID()
  readonly #here = createBus()
  readonly #outbox = new BusOutbox(this.#name)
  readonly #peers: BusPeers
  readonly #channel: string
  readonly #beatMs: number
  #client: pg.Client | null = null
  #sending: Promise<void> | null = null
  #turn: Promise<void> = Promise.resolve()
  #closed = false
  #hurry: () => void = () => undefined
  #coming: Promise<void> | null = null
  #beat: ReturnType<typeof setInterval> | undefined

  constructor(private readonly options: PostgresBusOptions) {
    this.#channel = options.channel ?? 'holdfast'
    this.#beatMs = options.heartbeatMs ?? 10_000
    this.#peers = new BusPeers(3 * this.#beatMs)
  }

  async open(): Promise<void> {
    try {
      await this.#connect()
    } catch (error) {
      const {code = 'no code'} = error as {code?: string}
      throw new HoldfastError('misconfigured', `Postgres cannot be used at the address given (${code}).`, {
        cause: error,
      })
    }
    this.#beat = setInterval(() => this.#lookAround(), this.#beatMs)
  }

  publish(poke: Poke): void {
    this.#here.publish(poke)
    if (this.#closed) return
    this.#outbox.add(poke)
    this.#send()
  }

  subscribe(listener: (poke: Poke) => void): () => void {
    return this.#here.subscribe(listener)
  }

  async close(): Promise<void> {
    clearInterval(this.#beat)
    await this.#sending
    this.#closed = true
    this.#hurry()
    await this.#coming
    const client = this.#client
    this.#client = null
    if (!client) return
    const leave = async () => {
      await this.#notify(client, {from: this.#name, pokes: [], leaving: true})
      await client.end()
    }
    // An unresponsive connection must not block the host. The other processes then detect the silence.
    await withDeadline('Leaving the bus', 2000, leave).catch(() => undefined)
  }

  /** Runs LISTEN before the connection is published, so that no poke is missed between LISTEN and the full reload. */
  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.options.url,
      application_name: 'holdfast-bus',
      connectionTimeoutMillis: 10_000,
      query_timeout: 10_000,
      keepAlive: true,
    })
    client.on('error', error => this.#lost(client, error))
    client.on('end', () => this.#lost(client, null))
    client.on('notification', ({payload = ''}) => this.#take(payload))
    try {
      await client.connect()
      await client.query(`LISTEN ${client.escapeIdentifier(this.#channel)}`)
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
    this.#client = client
    await this.#sayAlive()
  }

  #lost(client: pg.Client, error: unknown): void {
    if (client !== this.#client) return
    this.#client = null
    // Not awaited: an unresponsive connection would never end cleanly.
    client.end().catch(() => undefined)
    if (this.#closed) return
    this.#tell('bus.lost', error)
    this.#coming ??= this.#comeBack().finally(() => {
      this.#coming = null
    })
  }

  async #comeBack(): Promise<void> {
    for (let tries = 0; !this.#closed && !this.#client; tries++) {
      const pauseMs = Math.min(firstPauseMs * 2 ** tries, longestPauseMs)
      await this.#rest(pauseMs * (0.5 + Math.random() / 2))
      if (this.#closed) return
      await this.#connect().catch(() => undefined)
    }
    this.#tell('bus.restored')
    this.#here.publish({type: 'missed'})
    this.#send()
  }

  #take(payload: string): void {
    const message = readBusMessage(payload)
    if (!message || message.from === this.#name) return
    if (message.leaving) this.#peers.leave(message.from)
    // Reply to a new peer, so that it can detect when this process falls silent.
    else if (this.#peers.hear(message.from, performance.now())) void this.#sayAlive()
    for (const poke of message.pokes) this.#here.publish(poke)
  }

  /** Sends a heartbeat, which also detects a broken connection, and checks for dead peers. */
  #lookAround(): void {
    void this.#sayAlive()
    if (this.#peers.anybodyDied(performance.now())) this.#here.publish({type: 'missed'})
  }

  async #sayAlive(): Promise<void> {
    const client = this.#client
    if (!client) return
    await this.#notify(client, {from: this.#name, pokes: []}).catch(error => this.#lost(client, error))
  }

  /** Sends one payload at a time. Pokes that arrive meanwhile go into the next payload. */
  #send(): void {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
    })
  }

  async #sendAll(): Promise<void> {
    // Batch all pokes that are published in the same turn.
    await Promise.resolve()
    while (!this.#outbox.empty && this.#client) {
      const client = this.#client
      const payload = this.#outbox.take()
      try {
        await this.#notify(client, payload)
      } catch (error) {
        this.#outbox.putBack(payload)
        this.#lost(client, error)
      }
    }
  }

  /** Runs one query at a time on the connection. */
  #notify(client: pg.Client, message: BusMessage | string): Promise<void> {
    const payload = typeof message === 'string' ? message : JSON.stringify(message)
    const turn = this.#turn.then(async () => {
      await client.query('SELECT pg_notify($1, $2)', [this.#channel, payload])
    })
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  #rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#hurry = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #tell(event: 'bus.lost' | 'bus.restored', error?: unknown): void {
    openLog(this.options.log, Date.now)(event, {}, error ? loggedError(error) : undefined)
  }
}
