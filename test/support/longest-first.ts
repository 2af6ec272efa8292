import {relative} from 'node:path'
import {BaseSequencer, type TestSpecification} from 'vitest/node'

/**
 * Seconds of the slowest files on an idle machine with two cores. A fresh clone has no cache of durations, and one long
 * file that starts last keeps all other workers idle. `npm test` prints the ten slowest; copy what has changed much.
 */
const seconds: Record<string, number> = {
  'test/recovery/crash-device.test.ts': 110,
  'test/browser/platform/failover.test.ts': 75,
  'test/browser/demo/server-killed.test.ts': 74,
  'test/package.test.ts': 70,
  'test/recovery/payment-kills.test.ts': 70,
  'test/recovery/crash-server.test.ts': 60,
  'test/browser/demo/accessibility.test.ts': 52,
  'test/browser/demo/interrupted-run.test.ts': 50,
  'test/browser/demo/persons.test.ts': 50,
  'test/fuzz/foreign-ids.test.ts': 45,
  'test/browser/demo/plan-offline.test.ts': 43,
  'test/browser/demo/inbox.test.ts': 43,
  'test/browser/demo/memory.test.ts': 42,
  'test/browser/demo/two-tabs.test.ts': 38,
  'test/browser/demo/server-process.test.ts': 35,
  'test/browser/platform/frozen-leader.test.ts': 35,
  'test/browser/demo/closing.test.ts': 35,
  'test/model-check/model-check.test.ts': 34,
  'test/browser/demo/history.test.ts': 33,
  'test/browser/demo/offline.test.ts': 30,
  'test/testing/crash-everywhere.test.ts': 30,
  'test/recovery/payment-sigkills.test.ts': 28,
  'test/browser/demo/erasure.test.ts': 28,
  'test/browser/platform/opening.test.ts': 28,
  'test/field-reports/transcript.test.ts': 28,
  'test/browser/demo/hostile-content.test.ts': 25,
  'test/browser/demo/sending.test.ts': 25,
  'test/testing/evaluate.test.ts': 25,
  'test/memory/device.test.ts': 25,
  'test/browser/bundlers.test.ts': 24,
  'test/custody/provisional.test.ts': 22,
  'test/model-check/planted-bugs.test.ts': 22,
}

/** Starts long files first, of all projects together: browser files wait a lot, and node files use that time. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const weightOf = ({moduleId, project}: TestSpecification) =>
      seconds[relative(this.ctx.config.root, moduleId)] ?? (project.name === 'browser' ? 12 : 3)
    return files.toSorted((a, b) => weightOf(b) - weightOf(a))
  }
}
