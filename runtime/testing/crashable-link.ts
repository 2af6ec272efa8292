import type {LiveMessage} from '../protocol/wire.ts'
import type {CuttableLink} from '../sync/http-link.ts'
import type {MortalProcess} from './crash-points.ts'
import {proxied} from './crashable-store.ts'

/**
 * The link of a process that can die before it sends and after the server has answered, which is to say after the server
 * committed and before anybody here has heard of it.
 *
 * @example
 * const link = crashableLink(httpLink({url, token}), points.process('laptop'))
 */
export function crashableLink(link: CuttableLink, process: MortalProcess): CuttableLink {
  return proxied(link, (name, method) => {
    if (name === 'setOnline' || name === 'actFor') return method
    if (name === 'live') return (...args: Parameters<CuttableLink['live']>) => live(link, process, ...args)
    return (...args: unknown[]) => process.between(String(name), () => method(...args))
  })
}

/** A connection that stands is no work that ends by itself: it breaks with its process. */
async function live(
  link: CuttableLink,
  process: MortalProcess,
  onMessage: (message: LiveMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  process.point('before live')
  await link.live(message => {
    if (message.type === 'hello') process.point('after live')
    process.alive()
    onMessage(message)
  }, signal)
  process.alive()
}
