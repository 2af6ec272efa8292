import {hasWork} from '../loop/next-step.ts'
import {isActive} from '../protocol/run.ts'
import type {OpenSession} from './open-session.ts'

/**
 * Resolves once the run that a posted message is about to begin exists, so that it can be named and cancelled; at once
 * where none is about to begin. A loop that waits for something begins none.
 */
export async function comingRun({log, loop}: Pick<OpenSession, 'log' | 'loop'>): Promise<void> {
  const isComing = () => loop.state.working && !isActive(log.state.run) && hasWork(log.state)
  if (!isComing()) return
  await new Promise<void>(resolve => {
    const look = () => {
      if (isComing()) return
      stopLog()
      stopLoop()
      resolve()
    }
    const stopLog = log.onChange(look)
    const stopLoop = loop.onChange(look)
  })
}
