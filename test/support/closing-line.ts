import type {Reporter, SerializedError, TestModule} from 'vitest/node'

const shown = 10

/** Prints the slowest files, and the totals alone on the very last line, where a person or a script finds them. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap(module => [...module.children.allTests()])
    const count = (state: 'passed' | 'failed' | 'skipped') => tests.filter(test => test.result().state === state).length
    // A file that could not be loaded has no tests to count, and must not read as a success.
    const broken = modules.filter(module => module.errors().length > 0).length + unhandled.length
    const skipped = count('skipped')
    const line = `${count('passed')} passed, ${count('failed') + broken} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
    // Other reporters still write after this hook; nothing writes after the process has begun to exit.
    process.once('exit', () => process.stdout.write(`${slowest(modules)}${line}\n`))
  }
}

function slowest(modules: readonly TestModule[]): string {
  if (modules.length <= shown) return ''
  const secondsOf = (module: TestModule) => {
    const {collectDuration, setupDuration, duration} = module.diagnostic()
    return (collectDuration + setupDuration + duration) / 1000
  }
  const lines = modules
    .map(module => ({name: module.relativeModuleId, seconds: secondsOf(module)}))
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, shown)
    .map(({name, seconds}) => `${seconds.toFixed(0).padStart(5)} s  ${name}\n`)
  return `slowest files:\n${lines.join('')}`
}
