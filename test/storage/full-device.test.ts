import {beforeAll, describe, expect, test} from 'vitest'
import type {FileStep} from '../support/memory-opfs.ts'
import {type LeftDevice, leaveDevice, maya, message, openStoredDevice} from '../support/stored-device.ts'

let left: LeftDevice
beforeAll(async () => {
  left = await leaveDevice()
})

const full = () => new DOMException('No space available for this operation', 'QuotaExceededError')
const broken = () => new DOMException('The disk does not answer', 'InvalidStateError')
const isData = ({path}: FileStep) => path.endsWith('/data')
const isTree = ({path}: FileStep) => /tree\.\d$/.test(path)
const isOutbox = ({path}: FileStep) => path.includes('outbox')

/** Appends with the fault until one is refused, or five times; returns the words that were acknowledged. */
async function appendUnder(strikes: (step: FileStep) => boolean, error: () => unknown, from: number) {
  const opfs = left.opfs.copy()
  const device = await openStoredDevice(opfs)
  const log = await device.log(left.own.session)
  const acknowledged: string[] = []
  let steps = 0
  opfs.fault = step => {
    if (strikes(step) && step.do !== 'open' && step.do !== 'read' && steps++ >= from) throw error()
  }
  for (let n = 0; n < 5; n++) {
    const text = `number ${n} ${'y'.repeat(20_000)}`
    const kept = await log.append(maya, [message(text)]).then(
      () => true,
      () => false,
    )
    if (!kept) break
    acknowledged.push(text)
  }
  // The worker is gone without closing anything.
  opfs.fault = () => undefined
  return {opfs, acknowledged}
}

describe.each([
  ['the data file', isData],
  ['the file tree', isTree],
  ['the outbox', isOutbox],
])('%s', (_what, strikes) => {
  test.each([
    ['a full device', full, 0],
    ['a full device', full, 3],
    ['a disk that does not answer', broken, 0],
    ['a disk that does not answer', broken, 3],
  ])('[LOG-9] %s, %#: whatever was acknowledged is there afterwards', async (_fault, error, from) => {
    const {opfs, acknowledged} = await appendUnder(strikes, error, from)
    const again = await openStoredDevice(opfs)
    const texts = await again.texts(left.own.session)
    expect(texts.slice(0, left.own.texts.length)).toEqual(left.own.texts)
    expect(acknowledged.filter(text => !texts.includes(text))).toEqual([])
    await again.close()
  })
})

test('[LOG-9] an outbox that cannot be flushed acknowledges nothing', async () => {
  const {acknowledged} = await appendUnder(step => isOutbox(step) && step.do === 'flush', broken, 0)
  expect(acknowledged).toEqual([])
})
