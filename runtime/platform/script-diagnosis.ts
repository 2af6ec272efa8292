import {type OpeningCause, openingCause} from '../protocol/opening.ts'
import {forgetCached} from './cached-files.ts'

/** Fetches a worker's script again to find out why it was not loaded. */
export async function diagnoseScript(script: string | null, details: string): Promise<OpeningCause> {
  if (script === null) return openingCause('unreachable', details)
  const answer = await fetch(script, {cache: 'no-store'}).catch(() => null)
  if (!answer) return openingCause('unreachable', `${script} could not be fetched. ${details}`)
  if (answer.status === 404 || answer.status === 410) {
    return openingCause('new_version', `${script} answered with status ${answer.status}.`)
  }
  const type = answer.headers.get('content-type') ?? 'no type'
  if (!answer.ok) return openingCause('unreachable', `${script} answered with status ${answer.status}.`, answer.status)
  if (!/javascript/.test(type)) {
    await forgetCached(script)
    return openingCause('wrong_answer', `${script} answered with ${type} instead of a script.`)
  }
  return openingCause('script_error', `${script}: ${details}`)
}
