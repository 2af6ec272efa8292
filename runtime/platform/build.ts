import * as z from 'zod'

/** Which build a page is of. `loadedAt` is when the page was loaded, milliseconds since 1970. */
export const buildSchema = z.object({id: z.string(), ordered: z.boolean(), loadedAt: z.number()})
export type Build = z.infer<typeof buildSchema>

/**
 * True when `a` is a newer build than `b`. Ids that an application gives sort by age. The default ids are addresses of
 * scripts, which say only that two builds differ; then the page that was loaded later has the newer one.
 */
export function isNewer(a: Build, b: Build): boolean {
  if (a.id === b.id) return false
  return a.ordered && b.ordered ? a.id > b.id : a.loadedAt > b.loadedAt
}
