import type {Passport, SessionView} from '../runtime-types.ts'
import {ago} from '../tool-outputs.ts'
import {budgetWords} from './budget.ts'
import {modelWords, statusWords} from './session.ts'
import {standingSentence} from './standing.ts'

export type Fact = {name: string; value: string}

/** The passport as a person would say it; every line comes from the record and nothing is guessed. */
export function passportFacts(passport: Passport, custody: SessionView['custody']): Fact[] {
  const attempt = passport.attempt > 1 ? `, attempt ${passport.attempt}` : ''
  return [
    {name: 'State', value: `${statusWords(passport.status).words}${attempt}`},
    {name: 'Agent', value: `${passport.pin.agent} ${passport.pin.version}, fixed for this run`},
    {name: 'Chosen by', value: routeWords(passport.pin.route)},
    {name: 'Model', value: modelWords(passport.pin.model.label)},
    {name: 'Runs on', value: `${custodyWords[custody]} (epoch ${passport.custody.epoch})`},
    {name: 'Used', value: budgetWords(passport.bounds)},
    {name: 'Server has', value: confirmedWords(passport)},
    {name: 'Open', value: openWords(passport)},
    ...(passport.resumedFrom ? [{name: 'Went on from', value: resumedWords(passport.resumedFrom)}] : []),
    ...(passport.branch ? [{name: 'Branch', value: branchWords(passport.branch)}] : []),
  ]
}

export function routeWords({rule, table, registryAgeMs}: Passport['pin']['route']): string {
  const known = registryAgeMs === undefined ? '' : `, as this device knew it ${ago(registryAgeMs)}`
  switch (rule) {
    case 'active-version':
      return `the version that is active for everybody${known}`
    case 'newest-build':
      return 'the newest version on this device'
    default:
      return `rule “${rule}” of table ${table}`
  }
}

const custodyWords: Record<SessionView['custody'], string> = {
  here: 'this device',
  elsewhere: 'another device',
  nobody: 'nobody yet',
}

function confirmedWords({lastConfirmed, pending, rejected}: Passport): string {
  const parts = [lastConfirmed > 0 ? `everything up to entry ${lastConfirmed}` : 'nothing yet']
  if (pending.length > 0) parts.push(`${pending.length} only on this device`)
  if (rejected.length > 0) parts.push(`${rejected.length} refused`)
  return parts.join('; ')
}

function resumedWords({seq, epoch}: NonNullable<Passport['resumedFrom']>): string {
  return `entry ${seq}, as it stood in the record under epoch ${epoch}`
}

function branchWords({from, standing}: NonNullable<Passport['branch']>): string {
  const stands = standingSentence(standing)
  return `after entry ${from.seq} of another conversation. ${stands ?? 'Nothing was carried out there after it.'}`
}

function openWords({operations}: Passport): string {
  if (operations.length === 0) return 'no operation'
  return operations
    .map(({tool, status}) => `${tool === 'refundOrder' ? 'refund' : tool}: ${status.replaceAll('_', ' ')}`)
    .join(', ')
}

export const mayNames: Record<keyof Passport['may'], string> = {
  resume: 'Go on',
  retry: 'Retry',
  extend: 'Give it more',
  migrate: 'Move to another version',
  correct: 'Correct',
  fork: 'Branch',
  cancel: 'Stop',
}
