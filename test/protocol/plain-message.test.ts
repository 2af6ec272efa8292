import {expect, test} from 'vitest'
import * as z from 'zod'
import {parse} from '../../runtime/protocol/errors.ts'

const schema = z.object({cents: z.int().min(1).max(9), name: z.string().min(2)})

test.each([
  [{cents: 'two', name: 'Lea'}, 'input.cents: expected number, received string'],
  [{cents: 0, name: 'Lea'}, 'input.cents: expected number to be >=1'],
  [{cents: 10, name: 'Lea'}, 'input.cents: expected number to be <=9'],
  [{cents: 2, name: 'L'}, 'input.name: expected string to have >=2 characters'],
])('%j is refused in words of ours', (value, message) => {
  expect(() => parse(schema, value, 'input')).toThrow(expect.objectContaining({message}))
})
