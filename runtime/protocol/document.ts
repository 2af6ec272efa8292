import * as z from 'zod'

/**
 * A shared document (plan, draft, notes) is a Yjs document whose updates are events: append-only, ordered and synced
 * like everything else, so that reading it as of an event is reading a prefix. [WRK-2, WRK-3]
 */
export const documentNameSchema = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'expected a document name like "draft"')

export const documentKinds = {
  'document.updated': z.strictObject({
    document: documentNameSchema,
    /** One Yjs update (v1 encoding), base64. */
    update: z.base64().max(87_384, 'expected an update of at most 64 KiB'),
  }),
}
