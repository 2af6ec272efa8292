import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest'
import {mostSendRecords, recordFor, type SendRecord, sendRecordMs, sortedOut} from '../../web-demo/send-records.ts'

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

const record = (nth: number, more: Partial<SendRecord> = {}): SendRecord => ({
  key: 'ses_1',
  text: `text ${nth}`,
  message: `evt_${nth}`,
  session: `ses_of_${nth}`,
  at: nth,
  ...more,
})

describe('records of texts whose outcome is not known', () => {
  test('a text is found by its conversation and its words; the oldest of two records wins', () => {
    const records = [record(2, {text: 'same'}), record(1, {text: 'same'}), record(0, {text: 'same', key: 'new'})]
    expect(recordFor(records, 'ses_1', 'same')?.message).toBe('evt_1')
    expect(recordFor(records, 'new', 'same')?.message).toBe('evt_0')
    expect(recordFor(records, 'ses_1', 'other')).toBeUndefined()
  })

  test('the newest are kept up to a bound', () => {
    const records = Array.from({length: mostSendRecords + 3}, (_, nth) => record(nth))
    const {kept, dropped} = sortedOut(records, 100)
    expect(kept).toHaveLength(mostSendRecords)
    expect(dropped.map(({at}) => at)).toEqual([2, 1, 0])
  })

  test('a record expires after a day', () => {
    const {kept, dropped} = sortedOut([record(0), record(1)], sendRecordMs)
    expect(kept.map(({at}) => at)).toEqual([1])
    expect(dropped.map(({at}) => at)).toEqual([0])
  })
})

/** Loads the page's module anew: each load stands for one tab, or for one reload. */
async function tab() {
  vi.resetModules()
  return await import('../../web-demo/send-ids.ts')
}

beforeEach(() => {
  vi.stubGlobal('localStorage', new FakeStorage())
})
afterEach(() => vi.unstubAllGlobals())

describe('ids of a text in several tabs', () => {
  test('[ID-6] each text keeps its ids across a reload, whatever the other tab sends', async () => {
    const [a, b] = [await tab(), await tab()]
    const ofA = a.sendIds('maya', 'ses_1', 'from A')
    const ofB = b.sendIds('maya', 'ses_1', 'from B')
    const again = await tab()
    expect(again.sendIds('maya', 'ses_1', 'from A')).toEqual(ofA)
    expect(again.sendIds('maya', 'ses_1', 'from B')).toEqual(ofB)
  })

  test('a tab that shows the unsent text of another sends it under the same ids', async () => {
    const [a, b] = [await tab(), await tab()]
    expect(b.sendIds('maya', 'new', 'hello')).toEqual(a.sendIds('maya', 'new', 'hello'))
  })

  test('the ids of other persons and other conversations are others', async () => {
    const a = await tab()
    const ids = [a.sendIds('maya', 'ses_1', 'yes'), a.sendIds('ben', 'ses_1', 'yes'), a.sendIds('maya', 'ses_2', 'yes')]
    expect(new Set(ids.map(({message}) => message)).size).toBe(3)
  })

  test('once the outcome is known, the same words are a new message, and other texts keep their ids', async () => {
    const a = await tab()
    const yes = a.sendIds('maya', 'ses_1', 'yes')
    const no = a.sendIds('maya', 'ses_1', 'no')
    a.forgetSendIds('maya', 'ses_1', 'yes')
    const again = await tab()
    expect(again.sendIds('maya', 'ses_1', 'yes').message).not.toBe(yes.message)
    expect(again.sendIds('maya', 'ses_1', 'no')).toEqual(no)
  })

  test('a retry of this page keeps its ids when another tab has seen the message first', async () => {
    const [a, b] = [await tab(), await tab()]
    const ids = a.sendIds('maya', 'ses_1', 'yes')
    b.forgetArrived('maya', new Set([ids.message]))
    expect(a.sendIds('maya', 'ses_1', 'yes')).toEqual(ids)
  })

  test('a message that the conversation shows has its text named and its ids forgotten', async () => {
    const a = await tab()
    const {message} = a.sendIds('maya', 'new', 'hello')
    a.sendIds('maya', 'ses_1', 'other')
    const again = await tab()
    const arrived = again.forgetArrived('maya', new Set([message]))
    expect(arrived).toMatchObject([{key: 'new', text: 'hello'}])
    expect(again.sendIds('maya', 'new', 'hello').message).not.toBe(message)
  })

  test('[ID-6] [RET-2] a wipe deletes all records of the person, an erasure those of the conversation', async () => {
    const a = await tab()
    a.sendIds('maya', 'ses_1', 'one')
    a.sendIds('maya', 'ses_2', 'two')
    a.sendIds('ben', 'ses_1', 'of Ben')
    a.forgetSendIdsIn('maya', 'ses_1')
    const left = () => Object.values(localStorage).map(value => JSON.parse(value).text)
    expect(left()).toEqual(['two', 'of Ben'])
    a.forgetSendIdsOf('maya')
    expect(left()).toEqual(['of Ben'])
  })

  test('a record that cannot be read is deleted, and a browser that stores nothing still keeps one id a text', async () => {
    localStorage.setItem('send-ids:maya:ses_1', '{"text":"yes"}')
    const a = await tab()
    a.sendIds('maya', 'ses_1', 'yes')
    expect(localStorage.getItem('send-ids:maya:ses_1')).toBeNull()
    vi.stubGlobal('localStorage', undefined)
    expect(a.sendIds('maya', 'ses_1', 'later')).toEqual(a.sendIds('maya', 'ses_1', 'later'))
  })
})
