import type {Event} from './event.ts'
import {hasEnded} from './operation.ts'
import type {Pin} from './pin.ts'
import {type Refusal, refused} from './refusal.ts'
import type {RunState} from './run.ts'
import type {CallState, SessionState} from './session.ts'

type Migration = Extract<Event, {kind: 'run.migrated'}>

/**
 * Calls of the run that the new version would have to complete. Faulty calls, and calls whose operation has ended, are
 * excluded: they are answered from the records without any version.
 */
export function callsToCarry(
  {calls, operations}: Pick<SessionState, 'calls' | 'operations'>,
  run: RunState,
): CallState[] {
  const ended = new Set(operations.filter(hasEnded).map(({call}) => call))
  return calls.filter(
    call => call.run === run.id && call.fault === null && call.effect !== 'unknown' && !ended.has(call.id),
  )
}

/**
 * Why the run may not be moved to these parts of a pin, or null. Pure, so it goes by names, effects, versions and hashes;
 * that each input is valid under the new schema was checked by the device and stands in the event, against the very
 * hash of the schema it was checked with. [PIN-3]
 */
export function refuseMigration(state: SessionState, run: RunState, event: Migration): Refusal | null {
  const {data} = event
  const texts = run.pin.instructionsHash
  const same =
    data.to.toolsHash === run.pin.toolsHash &&
    (data.to.instructionsHash ?? texts) === (texts ?? data.to.instructionsHash) &&
    data.to.model.label === run.pin.model.label
  const faults = [
    ...(same && data.to.version === run.pin.version ? [`version ${run.pin.version}, which the run has already`] : []),
    ...callsToCarry(state, run).flatMap(call => faultOf(call, run.pin, data) ?? []),
  ]
  if (faults.length === 0) return null
  const legal = [
    'answer the open calls under the pinned version',
    'migrate to a version that takes them',
    'run.cancelled',
  ]
  return refused(event, faults.join('; '), 'user', legal)
}

function faultOf(call: CallState, pin: Pin, {to, checked}: Migration['data']): string | null {
  const had = pin.tools.find(tool => tool.name === call.tool)
  const has = to.tools.find(tool => tool.name === call.tool)
  const open = `open call ${call.id} of "${call.tool}"`
  if (!has) return `${open}, a tool that version ${to.version} does not have`
  if (has.effect !== call.effect) return `${open}, whose effect would turn from ${call.effect} to ${has.effect}`
  if (has.hash === had?.hash) return null
  if (has.version === had?.version) return `${open}, whose contract changed under the same version ${has.version}`
  const isChecked = checked.some(check => check.call === call.id && check.hash === has.hash)
  return isChecked ? null : `${open}, whose input was not checked against version ${has.version} of the tool`
}
