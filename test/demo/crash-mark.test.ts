import {describe, expect, test} from 'vitest'
import {crashMarks} from '../../web-demo/crash-mark.ts'
import {type SafeStorage, safeStorage} from '../../web-demo/safe-storage.ts'

function memory(): SafeStorage {
  const kept = new Map<string, string>()
  return {
    read: key => kept.get(key) ?? null,
    write: (key, value) => kept.set(key, value) !== undefined,
    remove: key => void kept.delete(key),
    keys: () => [...kept.keys()],
  }
}

function browser() {
  const shared = memory()
  let at = 0
  return {
    wait: (ms: number) => {
      at += ms
    },
    tab: () => {
      const tab = memory()
      return (page: string) => crashMarks({shared, tab, page, now: () => at})
    },
  }
}

describe('a page that did not survive a conversation', () => {
  test('knows which one it was, after a reload in the same tab', () => {
    const load = browser().tab()
    load('1').begin('ses_a')
    const next = load('2')
    expect(next.crashed('ses_a')).toBe(true)
    expect(next.crashed('ses_b')).toBe(false)
  })

  test('is known in another tab once it has hung for longer than a busy page does', () => {
    const {tab, wait} = browser()
    tab()('1').begin('ses_a')
    const other = tab()('2')
    expect(other.crashed('ses_a')).toBe(false)
    wait(6_000)
    expect(other.crashed('ses_a')).toBe(true)
  })

  test('is no suspect when the view was shown, or was tried again by the person', () => {
    const load = browser().tab()
    const first = load('1')
    first.begin('ses_a')
    first.end()
    expect(load('2').crashed('ses_a')).toBe(false)
    load('3').begin('ses_a')
    const last = load('4')
    last.forgive('ses_a')
    expect(last.crashed('ses_a')).toBe(false)
  })

  test('a browser that forbids storage changes nothing for the page', () => {
    const forbidden = safeStorage(() => {
      throw new DOMException('forbidden', 'SecurityError')
    })
    const marks = crashMarks({shared: forbidden, tab: forbidden, page: '1', now: () => 0})
    marks.begin('ses_a')
    marks.end()
    expect(marks.crashed('ses_a')).toBe(false)
    expect(forbidden.write('a', 'b')).toBe(false)
  })
})
