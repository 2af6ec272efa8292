import {HoldfastError} from '../../runtime/index.ts'

export type Problem = {words: string; details: string | null}

type Code = HoldfastError['code']

/** What a person is told in place of an error's own words, which may name methods and states. */
const words: Partial<Record<Code, string>> = {
  unauthenticated: 'You are not signed in at the moment. Nothing was lost; try again when the connection is back.',
  token_expired: 'Your sign-in has expired. It is renewed by itself; try again in a moment.',
  rate_limited: 'The server is busy. Try again in a moment.',
  forbidden: 'You may not do this.',
  not_found: 'This does not exist, or it is not yours.',
  conflict: 'Something else was stored in its place before. Reload the page to see it.',
  stale_epoch: 'Another device works on this conversation now.',
  unreadable_event: 'This conversation holds entries of a newer version. Reload the page.',
  offline: 'The server cannot be reached. Try again when the connection is back.',
  deadline: 'No answer came in time. It is not known whether it was done; trying again does not do it twice.',
  peer_gone: 'The tab that was to do it went away. Try again; it is not done twice.',
  database_locked: 'The data on this device is in use by another tab.',
  database_damaged: 'The data on this device could not be read.',
  storage_full: 'This device has no room left. Make some room and try again.',
  not_durable: 'This could not be stored on this device.',
  model_failed: 'The model did not answer.',
  tool_failed: 'A tool failed.',
  misconfigured: 'This page is not set up in a way that works here.',
  version_mismatch: 'This page and the server are of different versions. Reload the page.',
  internal: 'Something went wrong.',
}

export function problemOf(error: unknown): Problem {
  if (!HoldfastError.is(error)) {
    return {words: error instanceof Error ? error.message : String(error), details: causeOf(error)}
  }
  const plain = words[error.code]
  return plain ? {words: plain, details: detailsOf(error)} : {words: error.message, details: causeOf(error)}
}

function detailsOf(error: HoldfastError): string {
  const cause = causeOf(error)
  return cause ? `${error.code}: ${error.message} (${cause})` : `${error.code}: ${error.message}`
}

function causeOf(error: unknown): string | null {
  return error instanceof Error && error.cause instanceof Error ? error.cause.message : null
}
