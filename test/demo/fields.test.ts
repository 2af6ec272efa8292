import {createElement} from 'react'
import {renderToStaticMarkup} from 'react-dom/server'
import {describe, expect, test} from 'vitest'
import {OverLimit} from '../../web-demo/components/over-limit.tsx'
import {isComposing, sendsOn} from '../../web-demo/enter.ts'

const key = (over: Partial<Parameters<typeof sendsOn>[0]>) => ({
  key: 'Enter',
  keyCode: 13,
  shiftKey: false,
  altKey: false,
  isComposing: false,
  ...over,
})

describe('Enter in a field', () => {
  test.each([
    ['alone', key({}), true],
    ['with Shift: a new line', key({shiftKey: true}), false],
    ['of an input method that says so', key({isComposing: true}), false],
    ['of an input method that says so by key code alone', key({keyCode: 229}), false],
    ['processed by an input method', key({key: 'Process', keyCode: 229}), false],
  ])('%s', (_, event, sends) => {
    expect(sendsOn(event)).toBe(sends)
  })

  test('an input method is known by either sign', () => {
    expect(isComposing({isComposing: false, keyCode: 229})).toBe(true)
    expect(isComposing({isComposing: false, keyCode: 13})).toBe(false)
  })
})

describe('a text that is too long to be sent', () => {
  const said = (text: string) => renderToStaticMarkup(createElement(OverLimit, {id: 'x', text, limit: 16_000}))

  test('is refused in plain words with its limit', () => {
    expect(said('x'.repeat(6_000_000))).toContain(
      'This text has 6,000,000 characters; at most 16,000 can be sent. Shorten it first. It stays here.',
    )
  })

  test('is taken at the limit, spaces around it not counted', () => {
    expect(said(`  ${'x'.repeat(16_000)}  `)).not.toContain('at most')
  })
})
