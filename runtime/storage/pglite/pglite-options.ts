import {PGlite, type PGliteOptions} from '@electric-sql/pglite'

/** The smallest module there is. PGlite fetches 300 KB of initdb unless one is passed, and we never run it. */
const emptyWasmModule = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])

const settings = ['shared_buffers=8MB', 'jit=off']

/** Boots Postgres in 35 ms instead of 150, and acknowledges nothing that is not flushed. */
export function pgliteOptions(): PGliteOptions {
  return {
    relaxedDurability: false,
    initdbWasmModule: new WebAssembly.Module(emptyWasmModule),
    startParams: [...PGlite.defaultStartParams, ...settings.flatMap(setting => ['-c', setting])],
  }
}
