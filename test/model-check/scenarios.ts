import {type Left, nothing, type Scenario} from './world.ts'

/**
 * Each bounds the world in one direction and lets it go wrong in that direction in every way; all are explored to their
 * end. `deeper` is what a long run adds.
 */
export const scenarios: (Scenario & {deeper: Partial<Left>})[] = [
  {
    name: 'a correction meets an operation that waits for approval',
    left: {...nothing, messages: 1, externals: 1, expiries: 1},
    policies: ['ask', 'allow', 'deny'],
    maxSteps: 3,
    deeper: {serverCrashes: 1, cancels: 1},
  },
  {
    name: 'a cancel meets a loop that is interrupted and crashes',
    left: {...nothing, cancels: 1, externals: 1, interruptions: 1, crashes: 1, serverCrashes: 1},
    policies: ['allow'],
    maxSteps: 2,
    deeper: {locals: 1, messages: 1},
  },
  {
    name: 'a push that is lost, doubled or late meets a correction',
    left: {...nothing, messages: 1, externals: 1, delays: 1},
    policies: ['allow'],
    maxSteps: 1,
    deeper: {crashes: 1, delays: 2},
  },
  {
    name: 'custody goes to the other device and back',
    left: {...nothing, externals: 1, claims: 2},
    policies: ['allow'],
    maxSteps: 2,
    deeper: {interruptions: 1, messages: 1},
  },
  {
    name: 'two devices work apart, and both come back',
    left: {...nothing, messages: 1, assumes: 1},
    policies: ['allow'],
    maxSteps: 2,
    deeper: {assumes: 2, claims: 1, locals: 1},
  },
  {
    name: 'a local tool runs while custody moves',
    left: {...nothing, locals: 1, claims: 2, interruptions: 1},
    policies: ['ask'],
    maxSteps: 2,
    deeper: {crashes: 1, interruptions: 2},
  },
  {
    name: 'a retry elsewhere while a push is late',
    left: {...nothing, messages: 1, failures: 1, retries: 1, delays: 1},
    policies: ['allow'],
    maxSteps: 2,
    deeper: {retries: 2, externals: 1},
  },
  {
    name: 'a branch hears of what its parent left open',
    branch: true,
    left: {...nothing, messages: 1, externals: 1, strays: 1},
    policies: ['ask'],
    maxSteps: 1,
    deeper: {claims: 1, strays: 2},
  },
  {
    name: 'a fact changes between reading, approval and execution',
    left: {...nothing, locals: 1, externals: 1, factChanges: 1},
    policies: ['ask', 'allow'],
    maxSteps: 3,
    deeper: {factChanges: 2, messages: 1},
  },
  {
    name: 'an event of a newer build arrives in the middle of a run',
    left: {...nothing, messages: 1, externals: 1, unreadables: 1, interruptions: 1},
    policies: ['allow'],
    maxSteps: 1,
    deeper: {claims: 1, crashes: 1},
  },
  {
    name: 'a run sleeps, and is woken by the clock, a message or the world outside',
    left: {...nothing, sleeps: 1, messages: 1, wakes: 1},
    policies: ['allow'],
    maxSteps: 2,
    deeper: {claims: 1, cancels: 1, crashes: 1},
  },
  {
    name: 'a run stands at its bound until a person adds to it',
    left: {...nothing, extensions: 2, messages: 1, locals: 1, cancels: 1},
    policies: ['allow'],
    maxSteps: 1,
    deeper: {externals: 1, claims: 1},
  },
  {
    name: 'a run is moved to the next version, which one of two devices has',
    left: {...nothing, migrations: 1, locals: 1, claims: 1, interruptions: 1},
    policies: ['ask'],
    maxSteps: 2,
    deeper: {claims: 2, externals: 1, messages: 1},
  },
  {
    name: 'a session is closed while it works',
    left: {...nothing, closings: 1, externals: 1, messages: 1},
    policies: ['ask', 'allow'],
    maxSteps: 2,
    deeper: {closings: 2, claims: 1, sleeps: 1},
  },
  {
    name: 'two operations at once are decided in any order',
    left: {...nothing, externals: 2, expiries: 1},
    policies: ['ask'],
    maxSteps: 1,
    deeper: {cancels: 1},
  },
]

export function deepened({left, deeper, ...scenario}: (typeof scenarios)[number]): Scenario {
  return {...scenario, left: {...left, ...deeper}}
}

/** Everything may happen several times: too much to exhaust, so it is walked at random. */
export const anything: Scenario = {
  name: 'anything',
  left: {
    messages: 3,
    cancels: 2,
    retries: 3,
    externals: 4,
    locals: 2,
    failures: 3,
    claims: 5,
    assumes: 3,
    delays: 6,
    interruptions: 8,
    shortPulls: 5,
    crashes: 4,
    serverCrashes: 2,
    expiries: 2,
    factChanges: 2,
    unreadables: 0,
    strays: 2,
    sleeps: 2,
    wakes: 2,
    extensions: 2,
    migrations: 2,
    closings: 0,
  },
  policies: ['ask', 'allow', 'deny'],
  maxSteps: 4,
}

export const anythingClosed: Scenario = {
  ...anything,
  name: 'anything and a closing',
  left: {...anything.left, extensions: 0, closings: 1},
}

export const anythingUnreadable: Scenario = {
  ...anything,
  name: 'anything and an event that nobody can read',
  left: {...anything.left, unreadables: 1},
}
