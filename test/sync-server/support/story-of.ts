import {type Envelope, isCustodianKind} from '../../../runtime/protocol/event.ts'
import {pinWith} from '../../support/pin.ts'
import type {Draft} from './document-requests.ts'

/**
 * The same events as one device of Ana's would tell them from the start of a session, in which a run is under way: what
 * is judged then is what they say, and not only who says it.
 */
export function storyOf(draft: Draft): Draft {
  const {events} = draft.body as {events: Envelope[]}
  const uuid = events[0]?.id.slice(4) ?? ''
  const [session, device, run] = [`ses_${uuid}`, `dev_${uuid}`, `run_${uuid}`]
  const told = (event: Pick<Envelope, 'kind' | 'data'>, i: number) => ({
    ...events[0],
    ...event,
    id: `evt_${uuid.slice(0, 24)}${String(i).padStart(12, '0')}`,
    session,
    device,
    deviceSeq: i + 1,
    ...(isCustodianKind(event.kind)
      ? {run, attempt: 1, epoch: 1, step: `stp_${uuid}`, actor: {type: 'agent', name: 'desk'}}
      : {
          run: undefined,
          attempt: undefined,
          epoch: undefined,
          step: undefined,
          actor: {type: 'person', subject: 'ana'},
        }),
  })
  const opened = {kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}
  const started = {kind: 'run.started', data: pinned}
  return {...draft, params: {session}, body: {events: [opened, started, ...events].map(told)}}
}

const pinned = JSON.parse(JSON.stringify({pin: pinWith()}))
