import * as z from 'zod'

/** The build of a page. `loadedAt` is the load time of the page, in milliseconds since 1970. */
export const buildSchema = z.object({id: z.string(), ordered: z.boolean(), loadedAt: z.number()})
export type Build = z.infer<typeof buildSchema>

/**
 * True when `a` is a newer build than `b`. Ids set by the application (`ordered`) sort by age. The default ids are script
 * URLs, which have no order; the page that was loaded later then counts as newer.
 */
export function isNewer(a: Build, b: Build): boolean {
  if (a.id === b.id) return false
  return a.ordered && b.ordered ? a.id > b.id : a.loadedAt > b.loadedAt
}
