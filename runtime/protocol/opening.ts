import type {ErrorBody} from './errors.ts'
import type {StorageState} from './recovery.ts'

/**
 * Progress of a page in opening its runtime. It does not describe the connection to the server: an open runtime may be
 * offline, and a runtime that cannot open may be online.
 *
 *   opening ⇄ blocked        another tab owns the database and does not answer
 *      │  ▲
 *      ▼  │ the worker died, or the tab that owned the database is gone
 *     open
 *
 *   failed                   no retry can help; `ways` lists what the person can do
 */
export type Opening =
  | {
      state: 'opening'
      step: OpeningStep
      /** When this step began, milliseconds since 1970. */
      since: number
      /** Starts at 1 and counts up with each failure. */
      attempt: number
      /** Why the last attempt failed; null at the first. */
      cause: OpeningCause | null
      /** When the next attempt begins, milliseconds since 1970; null while one is under way. */
      nextAt: number | null
    }
  | {state: 'open'; role: 'leader' | 'follower'; storage: StorageState | null}
  | {
      state: 'blocked'
      by: 'frozen_tab' | 'older_build'
      since: number
      /** When this tab takes the database over, milliseconds since 1970; null while it does so. */
      nextAt: number | null
    }
  | {state: 'failed'; cause: OpeningCause; ways: Way[]}

/**
 * - `script`: loading the worker's script.
 * - `owner`: another tab owns or opens the database; this tab connects to it.
 * - `database`: this tab opens the database.
 */
export type OpeningStep = 'script' | 'owner' | 'database'

/** What the person can do about it. */
export type Way = 'reload' | 'free_space' | 'allow_storage' | 'close_other_tabs' | 'other_browser'

/**
 * - `new_version`: the worker's script no longer exists on the server, so a new version was published.
 * - `wrong_answer`: a request for a program file was answered with something else, such as a login page.
 * - `unreachable`: a program file could not be fetched.
 * - `script_error`: the worker's script was loaded and threw.
 * - `engine`: the database's WebAssembly does not compile here.
 * - `files_in_use`, `no_room`, `storage_blocked`, `damaged`: errors of the browser's storage.
 * - `newer_data`: a newer version wrote the data of this device.
 * - `no_answer`: the worker runs and does not answer.
 * - `browser`: this browser lacks a required feature.
 */
export type OpeningCauseKind =
  | 'new_version'
  | 'wrong_answer'
  | 'unreachable'
  | 'script_error'
  | 'engine'
  | 'files_in_use'
  | 'no_room'
  | 'storage_blocked'
  | 'damaged'
  | 'newer_data'
  | 'no_answer'
  | 'browser'
  | 'unknown'

export type OpeningCause = {
  kind: OpeningCauseKind
  /** One sentence to show to the person. */
  message: string
  /** Technical description, shown on request. */
  details: string
}

const messages: Record<OpeningCauseKind, string> = {
  new_version: 'A new version was published, and this page is of the old one.',
  wrong_answer: 'Something between this browser and the server, such as a login page, answered instead of the server.',
  unreachable: 'A part of the program could not be loaded. The connection may be down.',
  script_error: 'The program that runs in the background stopped when it started.',
  engine: 'The database engine does not start in this browser.',
  files_in_use: 'The files on this device are still in use by another tab, or by one that is just closing.',
  no_room: 'This device has no room left.',
  storage_blocked: 'The browser does not let this page store anything.',
  damaged: 'The data on this device could not be read.',
  newer_data: 'The data on this device was written by a newer version than this page.',
  no_answer: 'The program that runs in the background does not answer.',
  browser: 'This browser lacks something that is needed.',
  unknown: 'Something unexpected happened.',
}

/** `status`: the HTTP status that a request for a program file was answered with. */
export function openingCause(kind: OpeningCauseKind, details: string, status?: number): OpeningCause {
  const named = kind === 'unreachable' && status !== undefined
  const message = named ? `A part of the program could not be fetched (${status}).` : messages[kind]
  return {kind, message, details}
}

const ways: Partial<Record<OpeningCauseKind, Way[]>> = {
  new_version: ['reload'],
  wrong_answer: ['reload'],
  engine: ['reload', 'other_browser'],
  files_in_use: ['close_other_tabs'],
  no_room: ['free_space'],
  storage_blocked: ['allow_storage'],
  newer_data: ['reload'],
  browser: ['other_browser'],
}

export function waysFor(kind: OpeningCauseKind): Way[] {
  return ways[kind] ?? ['reload']
}

/** Derives the cause from the error that ended an attempt to open. */
export function causeOfError(error: ErrorBody): OpeningCause {
  const details = error.cause === undefined ? error.message : `${error.message} (${error.cause})`
  const status = error.details?.status
  return openingCause(kindOf(error), details, typeof status === 'number' ? status : undefined)
}

function kindOf({code, details, cause = '', message}: ErrorBody): OpeningCauseKind {
  const named = details?.opening
  if (typeof named === 'string' && named in messages) return named as OpeningCauseKind
  switch (code) {
    case 'database_locked':
      return 'files_in_use'
    case 'storage_full':
      return 'no_room'
    case 'database_damaged':
      return 'damaged'
    case 'version_mismatch':
      return 'newer_data'
    case 'offline':
      return 'unreachable'
    case 'deadline':
      return 'no_answer'
    default:
      return /security|not allowed|denied|insecure/i.test(`${message} ${cause}`) ? 'storage_blocked' : 'unknown'
  }
}

/** Whether two states are equal, so that a page need not render again. */
export function sameOpening(a: Opening, b: Opening): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
