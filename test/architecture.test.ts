import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, test} from 'vitest'
import {breachOf, type Import, importsOf, placeOf} from './support/import-rules.ts'

const root = join(import.meta.dirname, '..')

function sourceFiles(): string[] {
  return ['runtime', 'sync-server', 'web-demo'].flatMap(folder => {
    try {
      return readdirSync(join(root, folder), {recursive: true, encoding: 'utf8'})
        .filter(name => /\.tsx?$/.test(name))
        .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    } catch {
      return []
    }
  })
}

describe('imports run one way', () => {
  test('no source file imports against the order of the house', () => {
    const files = sourceFiles()
    const imports = files.flatMap(file => importsOf(file, readFileSync(join(root, file), 'utf8')))
    const breaches = imports.flatMap(one => {
      const why = breachOf(one)
      return why ? [`${one.file} imports ${one.target}: ${why}`] : []
    })
    expect(files.length).toBeGreaterThan(80)
    expect(imports.length).toBeGreaterThan(300)
    expect(breaches).toEqual([])
  })

  const planted: [string, string, string | null][] = [
    ['runtime/protocol/run.ts', "import canonicalize from 'canonicalize'", 'only zod'],
    ['runtime/protocol/run.ts', "import type {X} from '../loop/define.ts'", 'only zod'],
    ['runtime/protocol/run.ts', "import * as z from 'zod'\nimport {a} from './ids.ts'", null],
    ['runtime/loop/a.ts', "import {SessionLog} from '../storage/session-log.ts'", 'only `import type`'],
    ['runtime/loop/a.ts', "export * from '../storage/session-log.ts'", 'only `import type`'],
    ['runtime/loop/a.ts', "import {type A, b} from '../sync/http-link.ts'", 'only `import type`'],
    ['runtime/loop/a.ts', "const late = await import('../sync/http-link.ts')", 'only `import type`'],
    ['runtime/loop/a.ts', "import '../sync/http-link.ts'", 'only `import type`'],
    ['runtime/loop/a.ts', "import {\n  type A,\n  type B,\n} from '../sync/http-link.ts'", null],
    ['runtime/loop/a.ts', "import type {SessionLog} from '../storage/session-log.ts'", null],
    ['runtime/loop/a.ts', "// import {b} from '../sync/http-link.ts'", null],
    ['runtime/storage/a.ts', "import type {X} from '../device/device-runtime.ts'", 'composition roots'],
    ['runtime/storage/pglite/a.ts', "import {x} from '../../node.ts'", 'public entry'],
    ['runtime/device/a.ts', "import {openRuntime} from '../index.ts'", 'public entry'],
    ['runtime/device/a.ts', "import {SessionLog} from '../storage/session-log.ts'", null],
    ['runtime/page/a.ts', "import {createSyncServer} from '../../sync-server/index.ts'", 'neither server'],
    ['runtime/page/a.ts', "import * as Comlink from 'comlink'", 'comlink'],
    ['runtime/platform/rpc.ts', "import * as Comlink from 'comlink'", null],
    ['sync-server/a.ts', "import {x} from '../runtime/loop/define.ts'", 'only runtime/protocol'],
    ['sync-server/routes/a.ts', "import {x} from '../../runtime/protocol/ids.ts'", null],
    ['web-demo/a.tsx', "import {x} from '../runtime/page/page-runtime.ts'", 'public entries'],
    ['web-demo/a.tsx', "import {openRuntime} from '../runtime/index.ts'", null],
  ]
  test.each(planted)('a breach is found where it is planted, and only there: %s, %s', (file, text, why) => {
    const found = importsOf(file, text).map(one => breachOf(one))
    if (why === null) expect(found.every(one => one === null)).toBe(true)
    else expect(found.join()).toContain(why)
  })

  test('an import written over several lines, or only of types, is read as it is meant', () => {
    const text = "import {\n  a,\n  type B,\n} from './b.ts'\nexport type {C} from './c.ts'\nimport D from 'd'\n"
    expect(importsOf('runtime/loop/a.ts', text)).toEqual<Import[]>([
      {file: 'runtime/loop/a.ts', target: 'runtime/loop/b.ts', typeOnly: false},
      {file: 'runtime/loop/a.ts', target: 'runtime/loop/c.ts', typeOnly: true},
      {file: 'runtime/loop/a.ts', target: 'd', typeOnly: false},
    ])
  })

  test('a new room must be given its place in the order first', () => {
    expect(() => placeOf('runtime/attic/a.ts')).toThrow('has no place')
  })
})
