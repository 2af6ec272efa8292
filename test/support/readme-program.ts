import {readFileSync} from 'node:fs'
import {join} from 'node:path'

const readme = join(import.meta.dirname, '../../README.md')

/** The files of the README's program by name: every `// name.ts: …` line starts one. */
export function readmeProgram(): Map<string, string> {
  return filesOf('ts', /^\/\/ (\S+\.ts):/)
}

/** The README's build files for other bundlers by name: every `// name.mjs` line starts one. */
export function readmeBuilds(): Map<string, string> {
  return filesOf('js', /^\/\/ (\S+\.mjs)$/m)
}

function filesOf(language: string, title: RegExp): Map<string, string> {
  const [, block = ''] = readFileSync(readme, 'utf8').match(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``)) ?? []
  const files = new Map<string, string>()
  for (const part of block.split(new RegExp(`^(?=${title.source.replace('^', '')})`, 'm'))) {
    const [, name] = part.match(title) ?? []
    if (name) files.set(name, part)
  }
  return files
}
