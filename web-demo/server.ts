import {resolve} from 'node:path'
import {fileURLToPath} from 'node:url'
import {jsonLines} from '../sync-server/node.ts'
import {modelSettings} from './server/gateway-models.ts'
import {openDemo} from './server/open-demo.ts'

const dataDir = resolve(process.env.HOLDFAST_DATA ?? '.data')

try {
  const demo = await openDemo({
    dataDir,
    ...(process.env.DATABASE_URL && {databaseUrl: process.env.DATABASE_URL}),
    ...(process.env.HOLDFAST_BEGIN_ANEW && {beginAnew: process.env.HOLDFAST_BEGIN_ANEW}),
    // Default: the database is opened again in this process; `exit` leaves that to a supervisor.
    ...(process.env.HOLDFAST_ON_STOPPED === 'exit' && {onStopped: () => process.exit(1)}),
    // Built into dist/server, beside dist/page.
    pageDir: fileURLToPath(new URL('../page/', import.meta.url)),
    earlierDir: fileURLToPath(new URL('../earlier/', import.meta.url)),
    port: portFrom(process.env.PORT ?? '8787'),
    ...(process.env.HOST && {host: process.env.HOST}),
    // Names of this machine other than localhost, with a comma between two.
    ...(process.env.HOLDFAST_ORIGIN && {origins: process.env.HOLDFAST_ORIGIN.split(',').map(origin => origin.trim())}),
    ...(process.env.HOLDFAST_FILES_GONE_AFTER_MS && {
      filesGoneAfterMs: Number(process.env.HOLDFAST_FILES_GONE_AFTER_MS),
    }),
    // The time at which the operator began to remove erased rows, as in 2026-12-01T03:00:00Z.
    ...(process.env.HOLDFAST_FILES_REWRITTEN && {filesRewrittenAt: Date.parse(process.env.HOLDFAST_FILES_REWRITTEN)}),
    model: modelSettings(process.env),
    log: jsonLines(),
  })
  console.log(`Refund desk on ${demo.url}, data in ${process.env.DATABASE_URL ? 'Postgres' : dataDir}`)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void demo.close().then(() => process.exit(0)))
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

function portFrom(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new Error(`PORT: expected a number from 0 to 65535, got "${text}"`)
}
