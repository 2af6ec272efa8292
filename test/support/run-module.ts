import {type ChildProcess, spawn} from 'node:child_process'
import {resolve} from 'node:path'

export interface RunningModule {
  child: ChildProcess
  /** What the module wrote on one line, as JSON. */
  nextLine(): Promise<unknown>
  exited: Promise<void>
}

/** Runs a TypeScript module of ours in a Node process of its own, with `args` in `process.argv` from index 2. */
export function runModule(
  file: string,
  args: string[],
  /** `under`: a command that runs Node, such as `['unshare', '-pf']`. */
  {under = [], ownGroup = false}: {under?: string[]; ownGroup?: boolean} = {},
): RunningModule {
  const script = `
    const {runnerImport} = await import('vite')
    const {preparedDataDirPlugin} = (await runnerImport(${JSON.stringify(resolve('runtime/storage/prepared/vite-plugin.ts'))})).module
    await runnerImport(${JSON.stringify(file)}, {plugins: [preparedDataDirPlugin({cacheDir: 'node_modules/.cache/holdfast'})]})
  `
  const [command = process.execPath, ...before] = [...under, process.execPath]
  const child = spawn(command, [...before, '--input-type=module', '-e', script, '--', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: ownGroup,
  })
  const lines: unknown[] = []
  const waiting: ((line: unknown) => void)[] = []
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const next = waiting.shift()
      if (next) next(JSON.parse(part))
      else lines.push(JSON.parse(part))
    }
  })
  return {
    child,
    nextLine: () => (lines.length > 0 ? Promise.resolve(lines.shift()) : new Promise(next => waiting.push(next))),
    exited: new Promise(done => child.once('exit', () => done())),
  }
}
