import {expect, test} from 'vitest'
import {type Build, isNewer} from '../../runtime/platform/build.ts'

const named = (id: string): Build => ({id, ordered: true, loadedAt: 1})
const script = (id: string, loadedAt: number): Build => ({id, ordered: false, loadedAt})

test.for<[string, Build, Build, boolean]>([
  ['a name that sorts later', named('2026-12-01'), named('2026-11-30'), true],
  ['a name that sorts earlier', named('2026-11-30'), named('2026-12-01'), false],
  ['the same name', named('2026-11-30'), named('2026-11-30'), false],
  ['another script, loaded later', script('worker-b.js', 2), script('worker-a.js', 1), true],
  ['another script, loaded earlier', script('worker-b.js', 1), script('worker-a.js', 2), false],
  ['the same script, loaded later', script('worker-a.js', 2), script('worker-a.js', 1), false],
])('[CUS-2] which of two builds is newer: %s', ([, a, b, newer]) => {
  expect(isNewer(a, b)).toBe(newer)
})
