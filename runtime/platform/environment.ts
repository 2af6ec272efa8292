import {v7} from 'uuid'
import type {Environment} from '../protocol/environment.ts'
import {formatId} from '../protocol/ids.ts'

export const systemEnvironment: Environment = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  id: name => formatId(name, v7()),
  random: () => Math.random(),
}
