import type {BlobRef} from '../../../runtime/protocol/blob.ts'
import type {ErrorBody} from '../../../runtime/protocol/errors.ts'
import type {Envelope} from '../../../runtime/protocol/event.ts'
import type {Json} from '../../../runtime/protocol/json.ts'
import {serverEnvironment as env} from '../../../sync-server/environment.ts'
import {pinnedTool} from '../../support/pin.ts'
import {headersOf, type Served, type Who} from './caller.ts'
import {pin, type TestDevice} from './device.ts'

export type Answered = {status: number; body: {error?: ErrorBody}}

export async function putBlob(
  served: Served,
  who: Who,
  session: string,
  id: string,
  bytes: BodyInit,
): Promise<Answered> {
  const response = await served.app.request(`/v1/sessions/${session}/blobs/${encodeURIComponent(id)}`, {
    method: 'PUT',
    headers: {...headersOf(who), 'content-type': 'application/octet-stream'},
    body: bytes,
    duplex: 'half',
  } as RequestInit)
  return {status: response.status, body: (await response.json()) as Answered['body']}
}

export async function getBlob(served: Served, who: Who, session: string, id: string): Promise<Response> {
  return await served.app.request(`/v1/sessions/${session}/blobs/${encodeURIComponent(id)}`, {headers: headersOf(who)})
}

/** A run up to the result of a read tool that holds these blobs; the result comes last. */
export function resultWith(device: TestDevice, blobs: BlobRef[], output: Json = null): Envelope[] {
  const {event, held} = device
  const [run, step, call] = [env.id('run'), env.id('step'), env.id('call')]
  const manifest = {events: [], answers: [], estimatedTokens: 1, promptHash: '0'.repeat(64)}
  const part = {type: 'call' as const, call, providerCall: 'p1', tool: 'look', input: {}}
  const usage = {inputTokens: 1, outputTokens: 1}
  const of = held(run, {step})
  return [
    event('run.started', {pin: {...pin, tools: [pinnedTool('look', 'read')]}}, held(run)),
    event('step.prepared', {number: 1, manifest}, of),
    event('model.replied', {content: [part], finish: 'tool-calls', usage}, of),
    event('tool.called', {call}, of),
    event('tool.returned', {call, outcome: 'ok', output, ...(blobs.length > 0 && {blobs})}, of),
  ]
}
