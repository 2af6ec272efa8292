import {describe, expect, test} from 'vitest'
import {crashSweep} from './crash-sweep.ts'

const sweep = crashSweep('devices')

describe('[RUN-5] a device that dies before, inside or after any write or request ends where it would have ended', () => {
  test.each(sweep.table)('%s', {timeout: 900_000}, async (_, scenario) => {
    const report = await sweep.crash(scenario)
    expect(JSON.stringify(report.failures)).toBe('[]')
    const kinds = report.undisturbed.sessions.flatMap(({events}) => Object.keys(events))
    expect(kinds).toContain(scenario.shows)
    expect(report.deaths.length).toBeGreaterThanOrEqual(report.planned)
    // A run may come to its points in another order: a sample need not have met each of them.
    if (report.planned < report.points) return
    for (const place of ['a transaction', 'push']) expect(report.deaths).toContain(`laptop: after ${place}`)
  })
})
