import {expect, test} from 'vitest'
import {WorkMeter} from '../../runtime/loop/work-meter.ts'
import {fakeClock} from '../../runtime/testing.ts'

function meterOn(clock = fakeClock()) {
  return {clock, meter: new WorkMeter(() => clock.elapsed())}
}

test('[BUD-3] what is done between two events is work; what lies between two pieces of work is not', async () => {
  const {clock, meter} = meterOn()
  clock.advance(50_000)
  await meter.during(async () => clock.advance(300))
  clock.advance(7_200_000)
  await meter.during(async () => clock.advance(200))
  expect(meter.unrecordedMs).toBe(500)
  expect(meter.take()).toBe(500)
  expect(meter.unrecordedMs).toBe(0)
})

test('[BUD-3] a machine that slept in the middle of a piece of work has not worked', async () => {
  const {clock, meter} = meterOn()
  await meter.during(async () => {
    clock.advance(1000)
    expect(meter.unrecordedMs).toBe(1000)
    clock.advance(8 * 3_600_000)
    expect(meter.unrecordedMs).toBe(1000)
    clock.advance(500)
  })
  expect(meter.unrecordedMs).toBe(1500)
})

test('[BUD-3] a clock that is set, ahead or back, changes nothing', async () => {
  const {clock, meter} = meterOn()
  await meter.during(async () => {
    clock.set(0)
    clock.advance(10)
    clock.set(9e12)
    clock.advance(10)
  })
  expect(meter.unrecordedMs).toBe(20)
})

test('[BUD-3] what an event could not record is recorded by the next one', () => {
  const {clock, meter} = meterOn()
  void meter.during(async () => clock.advance(40))
  const taken = meter.take()
  meter.giveBack(taken)
  expect(meter.take()).toBe(40)
})

test('[BUD-3] a deadline counts work, not the sleep of the machine', async () => {
  const {clock, meter} = meterOn()
  const {signal, stop} = meter.after(1500)
  clock.advance(8 * 3_600_000)
  await new Promise(resolve => setImmediate(resolve))
  expect(signal.aborted).toBe(false)
  stop()
  const soon = meter.after(0)
  expect(soon.signal.aborted).toBe(true)
})
