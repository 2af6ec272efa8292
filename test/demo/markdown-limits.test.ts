import fc from 'fast-check'
import {createElement} from 'react'
import {renderToStaticMarkup} from 'react-dom/server'
import {describe, expect, test} from 'vitest'
import {Prose} from '../../web-demo/components/prose.tsx'
import {isSafeMarkdown} from '../../web-demo/markdown-limits.ts'

const rendered = (text: string) => renderToStaticMarkup(createElement(Prose, {text}))

describe('a reply that would overflow the stack of the Markdown parser', () => {
  test.each([
    ['quotes in one line', '>'.repeat(3000)],
    ['lists in one line', `${'- '.repeat(2000)}x`],
    ['numbered lists in one line', `${'1. '.repeat(1000)}x`],
    ['quotes and lists by turns', `${'> - '.repeat(500)}x`],
    ['lists by indentation', Array.from({length: 400}, (_, i) => `${'  '.repeat(i)}- x`).join('\n')],
    ['quotes that grow line by line', Array.from({length: 1000}, (_, i) => '>'.repeat(i)).join('\n')],
    ['emphasis', `${'*a '.repeat(5000)}b${'*'.repeat(5000)}`],
    ['strong emphasis', `${'**'.repeat(1000)}a${'**'.repeat(1000)}`],
    ['links', `${'['.repeat(5000)}a${'](b)'.repeat(5000)}`],
    ['link definitions', '[a]: b\n'.repeat(5000)],
    ['a line of a megabyte', 'a'.repeat(1_000_000)],
    ['many lines', 'a\n'.repeat(100_000)],
  ])('%s: is shown as plain text', (_, text) => {
    expect(isSafeMarkdown(text)).toBe(false)
    expect(rendered(text)).toContain('plain-text')
  })

  test.each([
    ['a list in a list in a quote', '> - a\n>   - b\n>     1. c'],
    ['emphasis and links', 'This is *very* **important**: see [the order](/shop) and `A17`.'],
    ['code with markers', `\`\`\`\n${'>'.repeat(200)}\n${'- '.repeat(200)}\n\`\`\``],
    ['a reply of 10 kB', 'The mug arrived broken. **We refund it.**\n\n'.repeat(240)],
  ])('%s: is still formatted', (_, text) => {
    expect(isSafeMarkdown(text)).toBe(true)
    expect(rendered(text)).not.toContain('plain-text')
  })

  test('whatever passes the limits is parsed without a fault', () => {
    const marks = ['>', '> ', '- ', '1. ', '[', '](', '](b)', '*', '**', '_', 'a', '`', '```', '<', '<!--', '&#', '\\']
    const mark = fc.constantFrom(
      ...marks,
      '\n',
      '\n\n',
      ' ',
      '    ',
      '\t',
      '|',
      '#',
      '![',
      ']',
      '[a]: b\n',
      '---\n',
      'x ',
    )
    const unit = fc.array(mark, {minLength: 1, maxLength: 4}).map(parts => parts.join(''))
    const block = fc.tuple(unit, fc.integer({min: 1, max: 3000})).map(([text, times]) => text.repeat(times))
    fc.assert(
      fc.property(fc.array(block, {minLength: 1, maxLength: 3}), blocks => {
        expect(rendered(blocks.join('\n\n'))).toContain('class="prose"')
      }),
      {numRuns: 150, seed: 20261130},
    )
  })
})
