import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest'

class FakeStorage {
  getItem(key: string): string | null {
    return Object.hasOwn(this, key) ? String(Reflect.get(this, key)) : null
  }
  setItem(key: string, value: string): void {
    Reflect.set(this, key, value)
  }
  removeItem(key: string): void {
    Reflect.deleteProperty(this, key)
  }
}

type Tab = {session: FakeStorage; events: EventTarget}

const newTab = (): Tab => ({session: new FakeStorage(), events: new EventTarget()})

/** Loads the page's module anew, as a reload does, with the storage of one tab. */
async function loadIn({session, events}: Tab) {
  vi.resetModules()
  const unsent = await import('../../web-demo/unsent.ts')
  /** What a tab does runs while its own storage is the current one. */
  return <T>(work: (module: typeof unsent) => T): T => {
    vi.stubGlobal('sessionStorage', session)
    vi.stubGlobal('addEventListener', events.addEventListener.bind(events))
    return work(unsent)
  }
}

beforeEach(() => {
  vi.stubGlobal('localStorage', new FakeStorage())
  vi.stubGlobal('sessionStorage', new FakeStorage())
})
afterEach(() => vi.unstubAllGlobals())

describe('unsent text of two tabs in one conversation', () => {
  test('each tab has its own text after a reload', async () => {
    const [a, b] = [newTab(), newTab()]
    const [inA, inB] = [await loadIn(a), await loadIn(b)]
    inA(({draftsOf}) => draftsOf('maya').keep('ses_1', 'from A'))
    inB(({draftsOf}) => draftsOf('maya').keep('ses_1', 'from B'))
    const [againA, againB] = [await loadIn(a), await loadIn(b)]
    expect(againA(({draftsOf}) => draftsOf('maya').kept('ses_1'))).toBe('from A')
    expect(againB(({draftsOf}) => draftsOf('maya').kept('ses_1'))).toBe('from B')
  })

  test('what one tab has sent does not delete the text of the other', async () => {
    const [a, b] = [newTab(), newTab()]
    const [inA, inB] = [await loadIn(a), await loadIn(b)]
    inA(({draftsOf}) => draftsOf('maya').keep('ses_1', 'from A'))
    inB(({draftsOf}) => draftsOf('maya').keep('ses_1', 'from B'))
    inA(({draftsOf}) => draftsOf('maya').keep('ses_1', ''))
    const later = await loadIn(newTab())
    expect(later(({draftsOf}) => draftsOf('maya').kept('ses_1'))).toBe('from B')
  })

  test('the text of a closed tab is shown by the next one when no other text is there', async () => {
    const [a, b] = [newTab(), newTab()]
    const [inA, inB] = [await loadIn(a), await loadIn(b)]
    inA(({shareWhenClosed}) => shareWhenClosed())
    inA(({draftsOf}) => draftsOf('maya').keep('new', 'from A'))
    inB(({draftsOf}) => draftsOf('maya').keep('new', 'from B'))
    inB(({draftsOf}) => draftsOf('maya').keep('new', ''))
    inA(() => a.events.dispatchEvent(new Event('pagehide')))
    const later = await loadIn(newTab())
    expect(later(({draftsOf}) => draftsOf('maya').kept('new'))).toBe('from A')
  })

  test('[ID-6] a tab that was unloaded during a wipe deletes its text when it is loaded again', async () => {
    const [a, b] = [newTab(), newTab()]
    const [inA, inB] = [await loadIn(a), await loadIn(b)]
    inA(({draftsOf}) => draftsOf('maya').keep('ses_1', 'from A'))
    inA(({draftsOf}) => draftsOf('ben').keep('ses_2', 'of Ben'))
    inB(({forgetUnsentOf}) => forgetUnsentOf('maya'))
    const again = await loadIn(a)
    again(({forgetWithOtherTabs}) => forgetWithOtherTabs())
    expect(again(({draftsOf}) => draftsOf('maya').kept('ses_1'))).toBe('')
    expect(again(({draftsOf}) => draftsOf('ben').kept('ses_2'))).toBe('of Ben')
  })
})
