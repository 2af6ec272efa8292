/** One import or re-export as it stands in a file. */
export type Import = {file: string; target: string; typeOnly: boolean}

const publicEntries = [
  'runtime/index.ts',
  'runtime/worker.ts',
  'runtime/node.ts',
  'runtime/testing.ts',
  'runtime/embedder.ts',
]
const middle = ['loop', 'storage', 'documents', 'sync', 'memory', 'platform', 'adapters']
// A test kit puts whole devices together and takes them apart, so it stands where the roots stand.
const roots = ['device', 'page', 'testing']
const serverEntries = ['sync-server/index.ts', 'sync-server/node.ts', 'sync-server/postgres.ts']

/** Reads every import, re-export and dynamic import of a module's text; comments and strings of other kinds are none. */
export function importsOf(file: string, text: string): Import[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const statements = code.matchAll(/^\s*(import|export)\b([^'";]*?)\bfrom\s*'([^']+)'/gm)
  const named = [...statements].map(([, , clause = '', target = '']) => ({
    file,
    target: resolve(file, target),
    typeOnly: isTypeOnly(clause),
  }))
  const others = [...code.matchAll(/\bimport\s*\(\s*'([^']+)'/g), ...code.matchAll(/^\s*import\s*'([^']+)'/gm)]
  return [...named, ...others.map(([, target = '']) => ({file, target: resolve(file, target), typeOnly: false}))]
}

function isTypeOnly(clause: string): boolean {
  if (/^\s*type\b/.test(clause)) return true
  const names = /^\s*\{([\s\S]*)\}\s*$/.exec(clause)?.[1]
  return !!names && names.split(',').every(name => name.trim() === '' || name.trim().startsWith('type '))
}

function resolve(file: string, target: string): string {
  if (!target.startsWith('.')) return target
  const path = file.split('/').slice(0, -1)
  for (const part of target.split('?')[0]!.split('/')) {
    if (part === '..') path.pop()
    else if (part !== '.') path.push(part)
  }
  return path.join('/')
}

/** Why this import may not be, or null: imports run one way. */
export function breachOf({file, target, typeOnly}: Import): string | null {
  if (target === 'comlink') {
    return file === 'runtime/platform/rpc.ts' ? null : 'only runtime/platform/rpc.ts may import comlink'
  }
  const from = placeOf(file)
  const to = isOurs(target) ? placeOf(target) : null
  switch (from) {
    case 'protocol':
      return to === 'protocol' || target === 'zod' ? null : 'runtime/protocol imports only zod and itself'
    case 'sync-server':
      if (to === null || to === 'sync-server') return null
      return to === 'protocol' ? null : 'sync-server imports only runtime/protocol'
    case 'web-demo':
      if (to === null || to === 'web-demo') return null
      return [...publicEntries, ...serverEntries, 'runtime/ai-sdk.ts'].includes(target)
        ? null
        : 'web-demo imports only public entries'
    case 'entry':
      return to === 'sync-server' || to === 'web-demo' ? 'the runtime imports neither server nor demo' : null
    default:
      return to === null ? null : roomBreach(from, to, typeOnly)
  }
}

function roomBreach(from: string, to: string, typeOnly: boolean): string | null {
  if (to === 'entry') return 'nothing inside imports a public entry'
  if (to === 'sync-server' || to === 'web-demo') return 'the runtime imports neither server nor demo'
  if (roots.includes(from) || to === from || to === 'protocol') return null
  if (roots.includes(to)) return 'rooms do not import the composition roots'
  return typeOnly ? null : 'rooms meet in the composition roots; between them only `import type`'
}

function isOurs(target: string): boolean {
  return /^(runtime|sync-server|web-demo|test)\//.test(target)
}

/** The room a file belongs to; a new folder under runtime must be given its place here first. */
export function placeOf(file: string): string {
  const [top = '', room = '', ...rest] = file.split('/')
  if (top !== 'runtime') return top
  if (rest.length === 0) return 'entry'
  if (room === 'protocol' || roots.includes(room) || middle.includes(room)) return room
  throw new Error(`${file}: runtime/${room} has no place in the order of imports`)
}
