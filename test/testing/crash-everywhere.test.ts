import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/node.ts'
import {
  type CrashTest,
  crashEverywhere,
  openTestDatabase,
  promptModel,
  type TestDatabase,
} from '../../runtime/testing.ts'

const count = defineTool({
  name: 'count',
  description: 'Count one more.',
  effect: 'local',
  input: z.strictObject({}),
})
const agent = defineAgent({name: 'counter', version: '1.0.0', instructions: 'Count.', tools: [count]})

/** Databases that all tests of this file share; a user would let the kit open its own. */
const databases = new Map<string, TestDatabase>()
beforeAll(async () => {
  databases.set('laptop', await openTestDatabase())
})
afterAll(() => databases.get('laptop')?.close())

/** What has been counted outside of the database, where a crash cannot undo it. */
let outside: string[] = []

const counting = (tools: CrashTest<typeof agent>['tools']): CrashTest<typeof agent> => ({
  agent,
  model: promptModel(prompt =>
    prompt.at(-1)?.role === 'tool' ? {text: 'Counted.'} : {calls: [{tool: 'count', input: {}}]},
  ),
  tools,
  databases,
  prepare: async db => void (await db.exec('create table if not exists counted (n int)')),
  world: () => {
    outside = []
    return {effects: () => outside}
  },
  async scenario(scene) {
    const session = await scene.at('laptop').open()
    await session.send('Count.')
    await session.until(view => view.status === 'completed')
  },
})

describe('crash tests of an agent of one’s own', () => {
  test('[OP-1] a tool that keeps to its transaction survives a crash at every point', async () => {
    const report = await crashEverywhere(
      counting({
        count: async (_input, {sql}) => ({rows: (await sql('insert into counted values (1) returning n')).length}),
      }),
    )
    expect(report.failures).toEqual([])
    expect(report.planned).toBe(report.points)
    expect(report.deaths.length).toBeGreaterThanOrEqual(report.points)
    expect(new Set(report.deaths)).toEqual(
      new Set(['before', 'inside', 'after'].map(when => `laptop: ${when} a transaction`)),
    )
  })

  test('with `nth` it crashes at a sample that has every name of a point', async () => {
    const test = counting({
      count: async (_input, {sql}) => ({rows: (await sql('insert into counted values (1) returning n')).length}),
    })
    const all = await crashEverywhere(test)
    const sample = await crashEverywhere({...test, nth: 1000})
    expect(sample.failures).toEqual([])
    expect(sample.planned).toBe(3)
    expect(sample.planned).toBeLessThan(all.planned)
    expect(new Set(sample.deaths)).toEqual(new Set(all.deaths))
  })

  test('[OP-1] a tool that does something outside of its transaction is found out by name', async () => {
    const report = await crashEverywhere(
      counting({
        count: () => {
          outside.push('one more')
          return {counted: true}
        },
      }),
    )
    expect(report.failures.map(({what}) => what)).toContain('effects.1: expected undefined, got "one more"')
    expect(report.failures.map(({point}) => point)).toContain('laptop: inside a transaction')
  })

  test('a point that no run comes to is reported as skipped, not passed over', async () => {
    const test = counting({count: () => ({counted: true})})
    const report = await crashEverywhere({
      ...test,
      async scenario(scene) {
        await test.scenario(scene)
        // Only the undisturbed runs say more.
        if (scene.run <= 3) await scene.at('laptop').open()
      },
    })
    expect(report.failures.map(({what}) => what)).toContainEqual(expect.stringContaining('it was skipped'))
  })

  test('a scenario that goes another way when it is told again is refused with the step', async () => {
    const test = counting({count: () => ({counted: true})})
    const told = new Set<number>()
    const report = await crashEverywhere({
      ...test,
      points: 'distinct',
      async scenario(scene) {
        const words = told.has(scene.run) ? 'Count again.' : 'Count.'
        told.add(scene.run)
        const session = await scene.at('laptop').open()
        await session.send(words)
        await session.until(view => view.status === 'completed')
      },
    })
    expect(report.failures.map(({what}) => what)).toContainEqual(
      expect.stringContaining('told again, step 2 is "laptop: send Count again." and was "laptop: send Count."'),
    )
  })

  test('a scenario whose undisturbed runs differ is refused before anything is crashed', async () => {
    const test = counting({count: () => ({counted: true})})
    const differing = crashEverywhere({
      ...test,
      async scenario(scene) {
        const session = await scene.at('laptop').open()
        await session.send(`Count for the ${scene.run}. time.`)
        await session.until(view => view.status === 'completed')
      },
    })
    await expect(differing).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('two undisturbed runs differ: sessions.0.transcript.0.text'),
    })
  })
})
