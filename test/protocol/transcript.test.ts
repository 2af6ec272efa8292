import {describe, expect, test} from 'vitest'
import type {Event, Kind, LoggedEvent} from '../../runtime/protocol/event.ts'
import {type DurableEvent, type ToolEntry, transcriptOf} from '../../runtime/protocol/transcript.ts'
import {repliedEvents, scribe} from '../support/events.ts'

const onServer = (event: LoggedEvent, seq: number): DurableEvent => ({event, durability: {status: 'server', seq}})

function transcript(kinds: Kind[]) {
  const desk = scribe()
  const events = [...repliedEvents(desk), ...(kinds.map(kind => desk.event(kind)) as Event[])]
  return {desk, entries: transcriptOf(events.map((event, i) => onServer(event, i + 1)))}
}

function firstRefund(kinds: Kind[]): ToolEntry | undefined {
  const {desk, entries} = transcript(kinds)
  return entries.find((entry): entry is ToolEntry => entry.type === 'tool' && entry.call === desk.names.first)
}

describe('cards', () => {
  const statuses: [Kind[], object][] = [
    [['operation.proposed'], {status: 'proposed', approval: null}],
    [
      ['operation.proposed', 'approval.requested'],
      {status: 'awaiting_approval', approval: {role: 'approver'}, reason: 'over the limit'},
    ],
    [['operation.proposed', 'approval.requested', 'approval.granted'], {status: 'authorised', decidedBy: 'theo'}],
    [['operation.proposed', 'approval.requested', 'approval.rejected'], {status: 'rejected', reason: 'no'}],
    [['operation.proposed', 'approval.requested', 'approval.expired'], {status: 'expired'}],
    [['operation.proposed', 'operation.authorised', 'operation.started'], {status: 'started'}],
    [['operation.proposed', 'operation.started', 'operation.executed'], {status: 'executed', receipt: {paid: true}}],
    [['operation.proposed', 'operation.started', 'operation.failed'], {status: 'failed', reason: 'no funds'}],
    [['operation.proposed', 'operation.uncertain'], {status: 'uncertain', reason: 'no answer'}],
    [['operation.proposed', 'operation.uncertain', 'operation.executed'], {status: 'executed', reason: null}],
    [['operation.proposed', 'operation.refused'], {status: 'refused', reason: 'changed'}],
    [['operation.proposed', 'operation.voided'], {status: 'voided', reason: 'newer instruction'}],
    [['operation.proposed', 'run.cancelled', 'operation.executed'], {status: 'executed'}],
  ]
  test.each(statuses)('[APP-6] after %j the card of the call shows it', (kinds, shown) => {
    expect(firstRefund(kinds)?.operation).toMatchObject(shown)
  })

  test('[APP-5] what comes of one call never shows on the card of another', () => {
    const {desk, entries} = transcript(['operation.proposed', 'operation.executed', 'tool.returned'])
    const cards = entries.filter((entry): entry is ToolEntry => entry.type === 'tool')
    expect(cards.map(card => [card.call, card.operation?.status ?? null, card.result?.outcome ?? null])).toEqual([
      [desk.names.read, null, 'ok'],
      [desk.names.first, 'executed', null],
      [desk.names.second, null, null],
    ])
  })

  test('[LOG-3] an event that is offered twice changes its card no further', () => {
    const kinds: Kind[] = ['operation.proposed', 'approval.requested', 'approval.granted', 'operation.executed']
    const twice = [...kinds, 'operation.executed', 'tool.returned', 'tool.returned'] as Kind[]
    const once = firstRefund([...kinds, 'tool.returned'])
    expect(firstRefund(twice)?.operation?.status).toBe(once?.operation?.status)
    expect(firstRefund(twice)?.result).toEqual(once?.result)
  })

  test('[LOG-7] a window that begins after the call shows no card out of nowhere', () => {
    const {event} = scribe()
    const late = [event('tool.returned'), event('operation.executed'), event('approval.granted')]
    expect(transcriptOf(late.map((each, i) => onServer(each, i + 9)))).toEqual([])
  })
})

describe('lines', () => {
  const notices: [Kind, string, string][] = [
    ['run.cancelled', 'cancelled', 'enough'],
    ['run.failed', 'failed', 'broke off'],
    ['run.retried', 'retried', 'last confirmed step'],
    ['run.completed', 'stopped_at_bound', '3 steps'],
    ['custody.granted', 'custody', 'Another device'],
    ['session.forked', 'forked', 'after event 3'],
    ['view.compacted', 'summarised', 'the transcript is complete'],
  ]
  test.each(notices)('[LOG-1] %s is a line about %s', (kind, about, text) => {
    const last = transcript([kind]).entries.at(-1)
    expect(last).toMatchObject({type: 'notice', about, text: expect.stringContaining(text)})
  })

  test('[LOG-4] an unreadable event is a line, not a gap', () => {
    const strange = {...scribe().event('message.posted'), unreadable: 'kind "x.y" is not known'} as LoggedEvent
    expect(transcriptOf([onServer(strange, 1)])).toMatchObject([{about: 'unreadable', text: 'kind "x.y" is not known'}])
  })

  test('[SYNC-2] a refused message stays where it was, with the reason; a refused result moves no card', () => {
    const desk = scribe()
    const refused = (event: LoggedEvent): DurableEvent => ({event, durability: {status: 'rejected', reason: 'late'}})
    const entries = transcriptOf([
      ...repliedEvents(desk).map((event, i) => onServer(event, i + 1)),
      refused(desk.event('tool.returned')),
      refused(desk.event('message.posted')),
    ])
    expect(entries.at(-1)).toMatchObject({type: 'message', durability: {status: 'rejected', reason: 'late'}})
    expect(entries.filter(entry => entry.type === 'tool').every(card => card.result === null)).toBe(true)
  })
})
