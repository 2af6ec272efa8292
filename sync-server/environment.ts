import {v7} from 'uuid'
import type {Environment} from '../runtime/protocol/environment.ts'
import {formatId} from '../runtime/protocol/ids.ts'

/** The system clock, ids and random numbers. Tests pass a scripted environment instead. */
export const serverEnvironment: Environment = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  id: name => formatId(name, v7()),
  random: () => Math.random(),
}
