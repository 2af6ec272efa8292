import {afterAll, beforeAll} from 'vitest'
import {type CrashTest, crashEverywhere} from '../../runtime/testing.ts'
import {type CrashDesk, deskTest, openCrashDesk} from '../support/crash-desk.ts'
import {deepStride} from '../support/deep.ts'
import {type CrashScenario, crashScenarios} from './scenarios.ts'

/** `npm test` crashes at every fifth point. `npm run test:deep` crashes at all of them. */
const sampled = 5

/** Plays each scenario and crashes its devices or its server; prints how many points were tried. */
export function crashSweep(dies: 'devices' | 'server', test: Pick<CrashTest, 'compare'> = {}) {
  let desk: CrashDesk
  beforeAll(async () => {
    desk = await openCrashDesk()
  })
  afterAll(() => desk.close())
  const counted: string[] = []
  afterAll(() => console.log(`crash points:\n${counted.join('\n')}`))

  return {
    table: crashScenarios.map(scenario => [scenario.name, scenario] as const),
    async crash(scenario: CrashScenario) {
      const every = deepStride === 1 || scenario.flagship
      const report = await crashEverywhere({
        ...deskTest(desk, scenario, scene => scenario.play(scene, desk)),
        ...test,
        dies,
        points: every ? 'every' : 'distinct',
        nth: every ? 1 : (deepStride ?? sampled),
      })
      counted.push(`  ${dies} ${report.planned} of ${report.points} at: ${scenario.name}`)
      return report
    },
  }
}
