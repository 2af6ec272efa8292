import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {crashEverywhere} from '../../runtime/testing.ts'
import {afterServerDeath, type CrashDesk, deskTest, openCrashDesk} from '../support/crash-desk.ts'
import {crashScenarios} from './scenarios.ts'

let desk: CrashDesk
beforeAll(async () => {
  desk = await openCrashDesk()
})
afterAll(() => desk.close())

/** `HOLDFAST_CRASH=every` also crashes where nothing has changed since the point before. */
const points = process.env.HOLDFAST_CRASH === 'every' ? 'every' : 'distinct'
const counted: string[] = []
afterAll(() => console.log(`crash points:\n${counted.join('\n')}`))

const table = crashScenarios.map(scenario => [scenario.name, scenario] as const)

describe('[RUN-5] a device that dies before, inside or after any write or request ends where it would have ended', () => {
  test.each(table)('%s', {timeout: 900_000}, async (name, scenario) => {
    const test = deskTest(desk, scenario, scene => scenario.play(scene, desk))
    const report = await crashEverywhere({...test, points: scenario.flagship ? 'every' : points})
    counted.push(`  device ${report.planned} of ${report.points} at: ${name}`)
    expect(JSON.stringify(report.failures)).toBe('[]')
    const kinds = report.undisturbed.sessions.flatMap(({events}) => Object.keys(events))
    expect(kinds).toContain(scenario.shows)
    expect(report.deaths.length).toBeGreaterThanOrEqual(report.planned)
    for (const place of ['a transaction', 'push']) expect(report.deaths).toContain(`laptop: after ${place}`)
  })
})

describe('[OP-3] [SYNC-4] a server that dies before or after any of its transactions and payments is asked again and pays once', () => {
  test.each(table)('%s', {timeout: 900_000}, async (name, scenario) => {
    const test = deskTest(desk, scenario, scene => scenario.play(scene, desk))
    const report = await crashEverywhere({...test, points, dies: 'server', compare: afterServerDeath})
    counted.push(`  server ${report.planned} of ${report.points} at: ${name}`)
    expect(JSON.stringify(report.failures)).toBe('[]')
    expect(report.deaths.length).toBeGreaterThanOrEqual(report.planned)
    expect(report.deaths).toContain('server: after locked')
  })
})
