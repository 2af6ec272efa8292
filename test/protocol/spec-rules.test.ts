import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, test} from 'vitest'

const root = join(import.meta.dirname, '../..')
const spec = readFileSync(join(root, 'runtime/protocol/SPEC.md'), 'utf8')
const [kept = '', planned = ''] = spec.split('\n## Planned\n')

/** The ids that begin a list item, in the order of the document. */
function rulesIn(text: string): string[] {
  return [...text.matchAll(/^- ([A-Z]+-\d+) /gm)].map(([, id = '']) => id)
}

/** The ids in the titles of all tests, as in `[LOG-6] …`. */
function rulesOfTests(): Set<string> {
  const files = readdirSync(join(root, 'test'), {recursive: true, encoding: 'utf8'}).filter(name =>
    name.endsWith('.ts'),
  )
  const sources = files.map(name => readFileSync(join(root, 'test', name), 'utf8'))
  return new Set(sources.flatMap(source => [...source.matchAll(/\[([A-Z]+-\d+)\]/g)].map(([, id = '']) => id)))
}

test('every rule that SPEC.md states as kept is named by a test', () => {
  const named = rulesOfTests()
  expect(rulesIn(kept).length).toBeGreaterThan(60)
  expect(rulesIn(kept).filter(id => !named.has(id))).toEqual([])
})

test('no rule is stated twice, and a planned one is not stated as kept except where it is extended', () => {
  const ids = rulesIn(kept)
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
  const extended = rulesIn(planned).filter(id => ids.includes(id))
  for (const id of extended) expect(planned).toContain(`- ${id} extends `)
})
