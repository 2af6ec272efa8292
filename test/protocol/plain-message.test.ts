import {expect, test} from 'vitest'
import * as z from 'zod'
import {parse} from '../../runtime/protocol/errors.ts'

const schema = z.object({
  cents: z.int().min(1).max(9).optional(),
  name: z.string().min(2).optional(),
  way: z.enum(['post', 'rail']).optional(),
  many: z.array(z.string()).max(1).optional(),
  either: z.union([z.string(), z.boolean()]).optional(),
  id: z.string().regex(/^A/, 'Order ids begin with A').optional(),
  anything: z.any(),
})

const cases: [unknown, string][] = [
  [{cents: 'two'}, 'input.cents: expected a number, got a string'],
  [{cents: 1.5}, 'input.cents: expected a whole number, got 1.5'],
  [{cents: Number.NaN}, 'input.cents: expected a number, got NaN'],
  [{cents: 0}, 'input.cents: expected a number of at least 1, got 0'],
  [{cents: 10}, 'input.cents: expected a number of at most 9, got 10'],
  [{name: 'L'}, 'input.name: expected at least 2 characters'],
  [{name: null}, 'input.name: expected a string, got null'],
  [{name: new Date(0)}, 'input.name: expected a string, got a Date'],
  [{way: 'air'}, 'input.way: expected "post" or "rail"'],
  [{many: ['a', 'b']}, 'input.many: expected at most 1 entry'],
  [{either: 4}, 'input.either: expected a string or true or false, got 4'],
  [{id: 'B1'}, 'input.id: Order ids begin with A'],
  [undefined, 'input: expected an object, got undefined'],
]

test.each(cases)('%j is refused in words of ours', (value, message) => {
  expect(() => parse(schema, value, 'input')).toThrow(expect.objectContaining({message}))
})

test('the words do not depend on the language that the application chose for Zod', () => {
  const {localeError} = z.config()
  z.config(z.locales.de())
  try {
    for (const [value, message] of cases) {
      expect(() => parse(schema, value, 'input')).toThrow(expect.objectContaining({message}))
    }
  } finally {
    z.config({localeError})
  }
})

test('a value that throws while it is read, or that is cyclic, is refused by name', () => {
  const throwing = {
    get name() {
      throw new Error('trap')
    },
  }
  expect(() => parse(schema, throwing, 'input')).toThrow(expect.objectContaining({code: 'bad_input'}))
  const deep = z.object({
    get self() {
      return deep
    },
    end: z.string(),
  })
  const cyclic: Record<string, unknown> = {end: 'x'}
  let inner = cyclic
  for (let depth = 0; depth < 40; depth++) {
    inner.self = {end: 'x'}
    inner = inner.self as Record<string, unknown>
  }
  expect(() => parse(deep, cyclic, 'input')).toThrow(/^input\.self(\.self)+\.….{1,60}$/)
})
