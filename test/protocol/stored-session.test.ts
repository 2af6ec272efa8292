import {expect, test} from 'vitest'
import {storedSession} from '../../runtime/protocol/stored-session.ts'
import {fold, repliedEvents, scribe} from '../support/events.ts'

const current = fold(repliedEvents(scribe()))

test('[LOG-8] a control state is read back as it was stored', () => {
  expect(storedSession(JSON.stringify(current))).toEqual(current)
})

test('[LOG-8] one that lists the calls of its run, with times of two clocks, opens with counts and measured work', () => {
  const {workedMs: _workedMs, ...run} = current.run!
  const ids = current.calls.map(({id}) => id)
  const earlier = {
    ...current,
    run: {...run, calls: ids, clock: {startedAt: 5, at: 9, waitedMs: 1, stoppedAt: null}},
    calls: current.calls.map(({place: _place, ...call}) => call),
  }
  expect(storedSession(JSON.stringify(earlier))).toEqual(current)
})

test('[LOG-8] what came later is filled in at every depth', () => {
  const {id, pin, startedBy} = current.run!
  const approval = {id: 'apr_1', role: 'approver', reason: 'much', expiresAt: 1}
  const earlier = {
    session: current.session,
    custody: current.custody,
    run: {id, pin, startedBy},
    calls: [],
    operations: [{id: 'opn_1', call: 'cal_1', run: id, tool: 'refund', status: 'awaiting_approval', approval}],
  }
  const read = storedSession(JSON.stringify(earlier))
  expect(read.run).toMatchObject({attempt: 1, ended: null, calls: 0, workedMs: 0, basis: {}, rest: null, steps: 0})
  expect(read.operations[0]).toMatchObject({
    basis: {},
    outcome: null,
    approval: {approvers: 1, endorsedBy: [], voices: []},
  })
  expect(read).toMatchObject({unanswered: [], queued: [], closed: null, policy: 'steer'})
})

test('[BUD-1] the control state of a run is as small after thousands of calls as after a few', () => {
  const sizeAfter = (replies: number) => {
    const desk = scribe()
    const events = repliedEvents(desk)
    const reply = events.find(({kind}) => kind === 'model.replied')!
    const prepared = events.find(({kind}) => kind === 'step.prepared')!
    let state = fold(events.slice(0, events.indexOf(prepared)))
    for (let i = 0; i < replies; i++) {
      state = fold([prepared, reply], state)
      const facts = {[`order/${i}`]: '1'}
      for (const {id} of state.calls) {
        const data = {...desk.data['tool.returned'], call: id, basis: facts}
        state = fold([desk.event('tool.returned', {data})], state)
      }
    }
    expect(state.run?.calls).toBe(replies * 3)
    return JSON.stringify(state).length
  }
  const few = sizeAfter(300)
  expect(sizeAfter(3000)).toBeLessThan(few * 1.1)
})
