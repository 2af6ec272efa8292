import type {Connection} from '../runtime-types.ts'
import {Banner} from './banner.tsx'

/**
 * Says what answers in place of the server. A device that has been used before works on without the server, so there only
 * an answer of something else is worth a note.
 */
export function ConnectionNote({connection, isNew}: {connection: Connection; isNew: boolean}) {
  if (!isNew && !connection.intercepted) return null
  return (
    <Banner tone="waiting">
      The server cannot be reached. {connection.detail} The page tries again by itself
      {isNew ? ' and signs in once the server answers.' : '; what you write is kept on this device.'}
    </Banner>
  )
}
