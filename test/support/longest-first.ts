import {relative} from 'node:path'
import {BaseSequencer, type TestSpecification} from 'vitest/node'

/**
 * Seconds of the slowest files on an idle machine with two cores. A fresh clone has no cache of durations, and one long
 * file that starts last keeps all other workers idle. `npm test` prints the ten slowest; copy what has changed much.
 */
const seconds: Record<string, number> = {}

/** Starts long files first, of all projects together: browser files wait a lot, and node files use that time. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const weightOf = ({moduleId, project}: TestSpecification) =>
      seconds[relative(this.ctx.config.root, moduleId)] ?? (project.name === 'browser' ? 12 : 3)
    return files.toSorted((a, b) => weightOf(b) - weightOf(a))
  }
}
