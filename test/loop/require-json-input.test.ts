import {expect, test} from 'vitest'
import * as z from 'zod'
import {defineTool, openRuntime} from '../../runtime/index.ts'
import {databaseNameSchema} from '../../runtime/page/database-name.ts'

const tool = (input: z.ZodType) => defineTool({name: 'look', description: 'x', effect: 'read', input})

test.each([
  ['input', z.date()],
  ['input.at', z.object({id: z.string(), at: z.date()})],
  ['input.when.from', z.object({when: z.object({from: z.date()})})],
  ['input.count', z.object({count: z.bigint()})],
  ['input.names', z.object({names: z.set(z.string())})],
])('[OP-7] a tool whose %s is no JSON is refused when it is defined, by the name of the field', (field, input) => {
  expect(() => tool(input)).toThrow(expect.objectContaining({code: 'misconfigured', details: {field}}))
})

test.each([
  z.object({at: z.iso.datetime()}),
  z.object({tags: z.record(z.string(), z.number()), either: z.union([z.string(), z.null()])}),
  z.strictObject({}),
])('[OP-7] a tool whose input is JSON is taken', input => {
  expect(tool(input)).toMatchObject({name: 'look'})
})

test.each(['a/b', '', '..', 'a\\b', 'x'.repeat(101), 7, 'a\u0000'])(
  'a database named %j is refused by its field',
  async name => {
    await expect(openRuntime({worker: () => new Worker(''), name: name as never})).rejects.toMatchObject({
      code: 'misconfigured',
      details: {field: 'name'},
    })
  },
)

test.each(['holdfast', 'desk-maya', 'My.App_2'])('a database named %j is taken', name => {
  expect(databaseNameSchema.safeParse(name).success).toBe(true)
})
