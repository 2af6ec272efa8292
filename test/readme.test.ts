import {join} from 'node:path'
import ts from 'typescript'
import {expect, test} from 'vitest'
import {readmeProgram} from './support/readme-program.ts'

const root = join(import.meta.dirname, '..')

function compile(program: Map<string, string>): string[] {
  const files = new Map([...program].map(([name, text]) => [join(root, 'test', name), text]))
  const {config} = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const {options} = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const paths = {
    holdfast: ['./runtime/index.ts'],
    'holdfast/worker': ['./runtime/worker.ts'],
    'holdfast/node': ['./runtime/node.ts'],
    'holdfast/testing': ['./runtime/testing.ts'],
    'holdfast/server': ['./sync-server/index.ts'],
    'holdfast/server/node': ['./sync-server/node.ts'],
  }
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
  const compiled = ts.createProgram([...files.keys(), ...ambient], {...options, paths}, host)
  return ts
    .getPreEmitDiagnostics(compiled)
    .map(({file, messageText}) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}

test('the programs in the README compile against the public entries, and a wrong one would not', () => {
  const files = readmeProgram()
  expect([...files.keys()]).toEqual(['first.ts', 'desk.ts', 'agent.worker.ts', 'page.ts', 'server.ts'])
  const lines = ['desk.ts', 'agent.worker.ts', 'page.ts'].flatMap(name => files.get(name)?.split('\n') ?? [])
  expect(lines.filter(line => line.trim() && !line.startsWith('//')).length).toBeLessThanOrEqual(20)

  // Compiled together with the program, so that the one slow pass also proves that it can fail.
  files.set('wrong.ts', `${files.get('page.ts')}\nsession.sendd('x')\n`)
  const faults = compile(files)
  expect(faults.filter(fault => !fault.includes('sendd'))).toEqual([])
  expect(faults).toHaveLength(1)
  expect(faults[0]).toMatch(/wrong\.ts: .*sendd/)
})
