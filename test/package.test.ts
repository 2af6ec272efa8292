import {execFile, spawn} from 'node:child_process'
import {once} from 'node:events'
import {copyFile, readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import {promisify} from 'node:util'
import ts from 'typescript'
import {build, type Rolldown} from 'vite'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {node24} from './support/node-24.ts'
import {type PackedProject, packedProject} from './support/packed-project.ts'
import {readmeProgram} from './support/readme-program.ts'

const entries = [
  'holdfast',
  'holdfast/worker',
  'holdfast/node',
  'holdfast/embedder',
  'holdfast/testing',
  'holdfast/server',
  'holdfast/server/node',
  'holdfast/server/postgres',
]
const conversation = join(import.meta.dirname, 'package/conversation.mjs')
const declared = join(import.meta.dirname, 'package/declared.ts')
const crashTest = join(import.meta.dirname, 'package/crash-test.mjs')

let project: PackedProject

beforeAll(async () => {
  project = await packedProject()
  for (const [name, text] of readmeProgram()) await writeFile(join(project.folder, name), text)
})

afterAll(() => project?.remove())

test('the tarball holds the built package and nothing else, and every entry it names', async () => {
  expect(project.files.filter(path => !path.startsWith('dist/lib/')).sort()).toEqual([
    'LICENSE',
    'README.md',
    'package.json',
  ])
  const manifest = JSON.parse(await readFile(join(project.folder, 'node_modules/holdfast/package.json'), 'utf8')) as {
    exports: Record<string, string | Record<string, string>>
  }
  const {'./package.json': _own, ...exports} = manifest.exports
  expect(Object.keys(exports).map(entry => entry.replace('.', 'holdfast'))).toEqual(entries)
  const targets = Object.values(exports).flatMap(target => Object.values(target))
  expect(project.files).toEqual(expect.arrayContaining(targets.map(target => target.replace('./', ''))))
  // 2.4 MB of it are the prepared data directory.
  expect(project.tarballBytes).toBeLessThan(3 * 1024 * 1024)
})

test('the program of the README for browsers is short', () => {
  const files = readmeProgram()
  expect([...files.keys()]).toEqual(['first.ts', 'desk.ts', 'agent.worker.ts', 'page.ts', 'server.ts'])
  const lines = ['desk.ts', 'agent.worker.ts', 'page.ts'].flatMap(name => files.get(name)?.split('\n') ?? [])
  expect(lines.filter(line => line.trim() && !line.startsWith('//')).length).toBeLessThanOrEqual(20)
})

test.each(['bundler', 'nodenext'] as const)(
  'the README programs and every entry type-check from the tarball, resolved as %s does',
  async resolution => {
    const imports = entries.map((entry, i) => `export * as entry${i} from '${entry}'\n`)
    const wrong = `${readmeProgram().get('page.ts')}\nsession.sendd('x')\n`
    await writeFile(join(project.folder, 'entries.ts'), imports.join(''))
    await writeFile(join(project.folder, 'wrong.ts'), wrong)
    await copyFile(declared, join(project.folder, 'declared.ts'))
    const faults = typeCheck([...readmeProgram().keys(), 'entries.ts', 'declared.ts', 'wrong.ts'], resolution)
    expect(faults).toHaveLength(1)
    expect(faults[0]).toMatch(/wrong\.ts: .*sendd/)
  },
)

test('the first program of the README runs on plain Node as it stands', async () => {
  await writeCompiled('first.ts')
  const {stdout} = await promisify(execFile)(process.execPath, ['first.js'], {cwd: project.folder})
  expect(stdout).toBe('message What is 2 + 40?\ntool \nreply It is 42.\n')
})

test('the server of the README names callers by its own sign-in', async () => {
  await writeCompiled('desk.ts')
  // Any free port instead of the README's.
  await writeCompiled('server.ts', text => text.replace('port: 8787', 'port: 0'))
  const child = spawn(process.execPath, ['server.js'], {cwd: project.folder})
  try {
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const me = (headers: Record<string, string>) => fetch(`${line.replace('listening on ', '')}/v1/me`, {headers})
    expect((await me({})).status).toBe(401)
    const answer = await me({authorization: 'Bearer key-of-maya'})
    expect(await answer.json()).toEqual({tenant: 'shop', subject: 'maya'})
  } finally {
    child.kill()
    await once(child, 'exit')
  }
})

test.each([
  ['the Node of these tests', process.version, async () => process.execPath],
  ['Node 24', 'v24.', node24],
] as const)('%s completes a conversation against a server, both from the tarball', async (_, expectedVersion, node) => {
  await copyFile(conversation, join(project.folder, 'conversation.mjs'))
  const {stdout} = await promisify(execFile)(await node(), ['conversation.mjs'], {cwd: project.folder})
  const {version, ...outcome} = JSON.parse(stdout) as {version: string}
  expect(version).toContain(expectedVersion)
  expect(outcome).toEqual({status: 'completed', entries: ['message', 'tool', 'tool', 'reply'], payments: 1})
})

test('plain Node crashes an agent everywhere with the kit from the tarball', async () => {
  await copyFile(crashTest, join(project.folder, 'crash-test.mjs'))
  const {stdout} = await promisify(execFile)(process.execPath, ['crash-test.mjs'], {cwd: project.folder})
  expect(JSON.parse(stdout)).toEqual({planned: true, failures: [], link: 'function', ids: 1})
})

test('Vite bundles the README page and its worker with no setting, and every file they name is there', async () => {
  await writeFile(join(project.folder, 'index.html'), '<script type="module" src="/page.ts"></script>')
  const built = await build({configFile: false, root: project.folder, logLevel: 'silent', build: {write: false}})
  const {output} = built as Rolldown.RolldownOutput
  const present = output.map(({fileName}) => fileName)
  const code = output.map(file =>
    'code' in file ? file.code : file.fileName.endsWith('.js') ? String(file.source) : '',
  )
  const named = [...new Set(code.join('\n').match(/assets\/[\w.-]+\.(?:js|bin|wasm|data)\b/g))]
  expect(present).toEqual(expect.arrayContaining(named))
  for (const file of [/agent\.worker-.+\.js$/, /data-dir-.+\.bin$/, /pglite-.+\.wasm$/, /pglite-.+\.data$/]) {
    expect(named).toContainEqual(expect.stringMatching(file))
  }
})

/** Node 20 runs no TypeScript. */
async function writeCompiled(name: string, edited = (text: string) => text): Promise<void> {
  const compilerOptions = {module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022}
  const {outputText} = ts.transpileModule(edited(readmeProgram().get(name) ?? ''), {
    compilerOptions: {...compilerOptions, rewriteRelativeImportExtensions: true},
  })
  await writeFile(join(project.folder, name.replace(/\.ts$/, '.js')), outputText)
}

/** Faults in the project and in the package's own declarations; those of its dependencies are not ours to mend. */
function typeCheck(names: string[], resolution: 'bundler' | 'nodenext'): string[] {
  const bundled = resolution === 'bundler'
  const program = ts.createProgram(
    names.map(name => join(project.folder, name)),
    {
      target: ts.ScriptTarget.ES2022,
      module: bundled ? ts.ModuleKind.ESNext : ts.ModuleKind.NodeNext,
      moduleResolution: bundled ? ts.ModuleResolutionKind.Bundler : ts.ModuleResolutionKind.NodeNext,
      strict: true,
      declaration: true,
      emitDeclarationOnly: true,
      allowImportingTsExtensions: true,
      skipLibCheck: false,
      types: [],
    },
  )
  return ts
    .getPreEmitDiagnostics(program)
    .filter(({file}) => !file || file.fileName.startsWith(project.folder))
    .map(({file, messageText}) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}
