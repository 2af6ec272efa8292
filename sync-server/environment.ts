import {v7} from 'uuid'
import type {Environment} from '../runtime/protocol/environment.ts'
import {formatId} from '../runtime/protocol/ids.ts'

/** The server's own clock and ids; tests pass a scripted one. */
export const serverEnvironment: Environment = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  id: name => formatId(name, v7()),
  random: () => Math.random(),
}
