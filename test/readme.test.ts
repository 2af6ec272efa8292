import {readFileSync} from 'node:fs'
import {basename, join} from 'node:path'
import ts from 'typescript'
import {expect, test} from 'vitest'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The program's files by name: every `// name.ts: …` line starts one. */
function programFiles(): Map<string, string> {
  const [, program = ''] = readme.match(/```ts\n([\s\S]*?)```/) ?? []
  const files = new Map<string, string>()
  for (const part of program.split(/^(?=\/\/ \S+\.ts:)/m)) {
    const [, name] = part.match(/^\/\/ (\S+\.ts):/) ?? []
    if (name) files.set(join(root, 'test', name), part)
  }
  return files
}

function compile(files: Map<string, string>): string[] {
  const {config} = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const {options} = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const paths = {holdfast: ['./runtime/index.ts'], 'holdfast/worker': ['./runtime/worker.ts']}
  const host = ts.createCompilerHost(options)
  const readFile = host.readFile.bind(host)
  const fileExists = host.fileExists.bind(host)
  host.readFile = name => files.get(name) ?? readFile(name)
  host.fileExists = name => files.has(name) || fileExists(name)
  host.getSourceFile = (name, version) => {
    const text = host.readFile(name)
    return text === undefined ? undefined : ts.createSourceFile(name, text, version, true)
  }
  const ambient = ts.sys.readDirectory(join(root, 'runtime'), ['.d.ts'])
  const program = ts.createProgram([...files.keys(), ...ambient], {...options, paths}, host)
  return ts
    .getPreEmitDiagnostics(program)
    .map(({file, messageText}) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}

test('the program in the README is short and compiles against the public entries, and a wrong one would not', () => {
  const files = programFiles()
  expect([...files.keys()].map(name => basename(name))).toEqual(['desk.ts', 'agent.worker.ts', 'page.ts'])
  const lines = [...files.values()].join('').split('\n')
  expect(lines.filter(line => line.trim() && !line.startsWith('//')).length).toBeLessThanOrEqual(20)

  // Compiled together with the program, so that the one slow pass also proves that it can fail.
  files.set(join(root, 'test', 'wrong.ts'), `${files.get(join(root, 'test', 'page.ts'))}\nsession.sendd('x')\n`)
  const faults = compile(files)
  expect(faults).toHaveLength(1)
  expect(faults[0]).toMatch(/wrong\.ts: .*sendd/)
})
