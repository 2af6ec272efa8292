import {readdirSync, statSync} from 'node:fs'
import {readFile} from 'node:fs/promises'
import {extname, join, relative, sep} from 'node:path'
import type {Context} from 'hono'

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
}
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

/**
 * Serves a built page, and the assets of earlier builds to tabs that are still open. Only what was in the folders at the
 * start can be asked for, so no path leads out of them; a path that is no file and looks like a page gets index.html,
 * because the page routes by itself.
 */
export function staticFiles(folder: string, earlier?: string): (c: Context) => Promise<Response> {
  const current = new Set(listFiles(folder))
  const old = earlier === undefined ? [] : listFiles(earlier).filter(file => !current.has(file))
  const files = new Set([...current, ...old])
  return async c => {
    const asked = c.req.path.slice(1)
    const file = files.has(asked) ? asked : isPagePath(asked) ? 'index.html' : null
    if (file === null || !files.has(file)) return c.text('Not found', 404)
    const accepted = c.req.header('accept-encoding') ?? ''
    const packed = encodings.find(([name, suffix]) => accepted.includes(name) && files.has(file + suffix))
    if (packed) c.header('content-encoding', packed[0])
    c.header('vary', 'accept-encoding')
    c.header('content-type', types[extname(file)] ?? 'application/octet-stream')
    // Built assets carry a hash of their content in the name; everything else, the service worker first, is asked anew.
    c.header('cache-control', file.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
    return c.body(
      new Uint8Array(
        await readFile(join(current.has(file) ? folder : (earlier ?? folder), file + (packed?.[1] ?? ''))),
      ),
    )
  }
}

function isPagePath(path: string): boolean {
  return /^[\w/-]*$/.test(path)
}

function listFiles(folder: string): string[] {
  if (!statSync(folder, {throwIfNoEntry: false})) return []
  return readdirSync(folder, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
}
