import type {Reporter, SerializedError, TestModule} from 'vitest/node'

/** Prints the tally alone on the very last line, so that a person or a script finds it without parsing the rest. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap(module => [...module.children.allTests()])
    const count = (state: 'passed' | 'failed' | 'skipped') => tests.filter(test => test.result().state === state).length
    // A file that could not be loaded has no tests to count, and must not read as a success.
    const broken = modules.filter(module => module.errors().length > 0).length + unhandled.length
    const skipped = count('skipped')
    const line = `${count('passed')} passed, ${count('failed') + broken} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
    // Other reporters still write after this hook; nothing writes after the process has begun to exit.
    process.once('exit', () => process.stdout.write(`${line}\n`))
  }
}
