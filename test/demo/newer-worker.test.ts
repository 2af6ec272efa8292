import {describe, expect, test} from 'vitest'
import {NewerWorker, type Registered} from '../../web-demo/newer-worker.ts'

class FakeWorker extends EventTarget {
  constructor(public state: ServiceWorkerState) {
    super()
  }
  become(state: ServiceWorkerState): void {
    this.state = state
    this.dispatchEvent(new Event('statechange'))
  }
}

const worker = (state: ServiceWorkerState) => new FakeWorker(state) as FakeWorker & ServiceWorker

class FakeRegistration extends EventTarget implements Registered {
  active: ServiceWorker | null = null
  waiting: ServiceWorker | null = null
  installing: ServiceWorker | null = null
}

function registered(parts: Partial<Registered>): FakeRegistration {
  return Object.assign(new FakeRegistration(), parts)
}

function watch(registration: FakeRegistration, controller: ServiceWorker | null) {
  let told = 0
  const newer = new NewerWorker(registration, controller, () => {
    told += 1
  })
  return {newer, told: () => told}
}

describe('a newer build is noticed', () => {
  test('when its worker already waits as the page looks', () => {
    const active = worker('activated')
    expect(watch(registered({active, waiting: worker('installed')}), active).newer.found).toBe(true)
  })

  test('when its worker is already installing as the page looks, once it is installed', () => {
    const active = worker('activated')
    const installing = worker('installing')
    const {newer, told} = watch(registered({active, installing}), active)
    expect(newer.found).toBe(false)
    installing.become('installed')
    expect([newer.found, told()]).toEqual([true, 1])
  })

  test('when its worker was found by the check of another tab, without an event in this one', () => {
    const active = worker('activated')
    const registration = registered({active})
    const {newer, told} = watch(registration, active)
    registration.waiting = worker('installed')
    newer.look()
    newer.look()
    expect([newer.found, told()]).toEqual([true, 1])
  })

  test('by a page that no worker controls, as at the first visit', () => {
    const first = worker('installing')
    const registration = registered({installing: first})
    const {newer} = watch(registration, null)
    first.become('installed')
    first.become('activated')
    expect(newer.found).toBe(false)
    Object.assign(registration, {active: first, installing: worker('installing')})
    registration.dispatchEvent(new Event('updatefound'))
    ;(registration.installing as FakeWorker & ServiceWorker).become('installed')
    expect(newer.found).toBe(true)
  })

  test('and stays so when another tab has activated it', () => {
    const active = worker('activated')
    const waiting = worker('installed')
    const registration = registered({active, waiting})
    const {newer, told} = watch(registration, active)
    Object.assign(registration, {active: waiting, waiting: null})
    waiting.become('activating')
    waiting.become('activated')
    expect([newer.found, told()]).toEqual([true, 1])
  })

  test('but not when its installation fails', () => {
    const active = worker('activated')
    const installing = worker('installing')
    const {newer} = watch(registered({active, installing}), active)
    installing.become('redundant')
    expect(newer.found).toBe(false)
  })
})
