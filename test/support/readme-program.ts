import {readFileSync} from 'node:fs'
import {join} from 'node:path'

const readme = join(import.meta.dirname, '../../README.md')
const block = /```(ts|js)\n([\s\S]*?)```/g
/** A line such as `// desk.ts: what it is` starts a file. */
const title = /^\/\/ (\S+\.(?:ts|mjs))(?::.*)?$/m

/** All TypeScript files of the README, by name. */
export function readmeProgram(): Map<string, string> {
  return filesThat(name => name.endsWith('.ts'))
}

/** The README's build files for other bundlers, by name. */
export function readmeBuilds(): Map<string, string> {
  return filesThat(name => name.endsWith('.mjs'))
}

function filesThat(wanted: (name: string) => boolean): Map<string, string> {
  const files = new Map<string, string>()
  for (const [, , code = ''] of readFileSync(readme, 'utf8').matchAll(block)) {
    for (const part of code.split(new RegExp(`(?=${title.source})`, 'm')).filter(part => title.test(part))) {
      const name = part.match(title)?.[1]
      if (name && wanted(name)) files.set(name, part)
    }
  }
  return files
}
