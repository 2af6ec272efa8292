import {readFileSync} from 'node:fs'
import {join} from 'node:path'

const readme = join(import.meta.dirname, '../../README.md')

/** The files of the README's program by name: every `// name.ts: …` line starts one. */
export function readmeProgram(): Map<string, string> {
  const [, program = ''] = readFileSync(readme, 'utf8').match(/```ts\n([\s\S]*?)```/) ?? []
  const files = new Map<string, string>()
  for (const part of program.split(/^(?=\/\/ \S+\.ts:)/m)) {
    const [, name] = part.match(/^\/\/ (\S+\.ts):/) ?? []
    if (name) files.set(name, part)
  }
  return files
}
