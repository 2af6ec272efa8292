import {describe, expect, test} from 'vitest'
import {afterServerDeath} from '../support/crash-desk.ts'
import {crashSweep} from './crash-sweep.ts'

const sweep = crashSweep('server', {compare: afterServerDeath})

describe('[OP-3] [SYNC-4] a server that dies before or after any of its transactions and payments is asked again and pays once', () => {
  test.each(sweep.table)('%s', {timeout: 900_000}, async (_, scenario) => {
    const report = await sweep.crash(scenario)
    expect(JSON.stringify(report.failures)).toBe('[]')
    expect(report.deaths.length).toBeGreaterThanOrEqual(report.planned)
    // A run may come to its points in another order: a sample need not have met each of them.
    if (report.planned === report.points) expect(report.deaths).toContain('server: after locked')
  })
})
