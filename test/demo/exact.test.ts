import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {exactJson, exactText} from '../../web-demo/words/exact.ts'
import {refundInput} from '../../web-demo/words/refund.ts'

describe('text by which somebody decides', () => {
  test.each([
    ['an override of direction', 'A17\u202e00.05', 'A17⟨U+202E⟩00.05'],
    ['an isolate', '\u2066A17\u2069', '⟨U+2066⟩A17⟨U+2069⟩'],
    ['zero-width characters', 'A\u200b17\ufeff', 'A⟨U+200B⟩17⟨U+FEFF⟩'],
    ['many of them', `A${'\u200b'.repeat(500)}17`, 'A⟨U+200B ×500⟩17'],
    ['tag characters', 'A17\u{e0041}', 'A17⟨U+E0041⟩'],
    ['a soft hyphen', 'A\u00ad17', 'A⟨U+00AD⟩17'],
    ['a space that is none', 'A17\u00a0and', 'A17⟨U+00A0⟩and'],
    ['a filler letter', 'A\u316417', 'A⟨U+3164⟩17'],
    ['NUL and half a pair', 'A\0\ud83d', 'A⟨U+0000⟩⟨U+D83D⟩'],
    ['marks piled on a letter', `e${'\u0301'.repeat(60)}`, `e\u0301\u0301\u0301⟨U+0301 ×57⟩`],
  ])('%s is written as its code point', (_, text, shown) => {
    expect(exactText(text)).toBe(shown)
  })

  test.each([
    'Order A17, €49.00',
    'Grüße, naïve, Việt Nam, 注文',
    'two\nlines\tand a tab',
    'a family 👨‍👩‍👧 and a heart ❤️',
  ])('%j stays as it is', text => {
    expect(exactText(text)).toBe(text)
  })

  test('its JSON shows all of it and still means the same', () => {
    expect(exactJson(JSON.stringify({orderId: 'A17\u202e'}))).toBe('{"orderId":"A17\\u202e"}')
    fc.assert(
      fc.property(fc.json({stringUnit: 'binary'}), json => {
        expect(JSON.parse(exactJson(json))).toEqual(JSON.parse(json))
      }),
    )
  })

  test('the parts of a refund are exact wherever they are told', () => {
    expect(refundInput({input: {orderId: 'A\u200b17', cents: 4900, reason: '\u202ebroken'}})).toEqual({
      orderId: 'A⟨U+200B⟩17',
      amount: '€49.00',
      reason: '⟨U+202E⟩broken',
    })
  })
})
