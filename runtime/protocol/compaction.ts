import * as z from 'zod'
import {estimateTokens} from './estimate-tokens.ts'
import type {Event} from './event.ts'
import {eventIdSchema} from './ids.ts'
import {sha256Schema} from './manifest.ts'
import {usageSchema} from './run.ts'

export const compactionKinds = {
  /**
   * From here on views show the summary instead of the events from `from` to `to`, in the order in which the model saw
   * them. The events stay in the transcript. [VIEW-3, LOG-1]
   */
  'view.compacted': z.strictObject({
    from: eventIdSchema,
    to: eventIdSchema,
    /** An earlier compaction whose summary this one takes in. */
    previous: eventIdSchema.optional(),
    summary: z.string().min(1).max(16_000),
    by: z.enum(['model', 'rules']),
    /** Estimated size of a view right after: the summary and what it does not stand for. */
    tokens: z.int().nonnegative(),
    events: z.int().nonnegative(),
    usage: usageSchema.optional(),
    /** SHA-256 of the prompt that asked for the summary; the events between `from` and `to` give it again. [VIEW-2] */
    promptHash: sha256Schema.optional(),
  }),
  /**
   * The provider refused the view of the step as too long. The step ends without a reply, and later views for this
   * model are smaller. [VIEW-4]
   */
  'view.refused': z.strictObject({
    /** Estimated tokens of the refused view. */
    tokens: z.int().nonnegative(),
    /**
     * The provider's limit and its count of this prompt, in provider tokens. Null where the provider did not state
     * them.
     */
    limit: z.int().nonnegative().nullable(),
    counted: z.int().nonnegative().nullable(),
    /** Size limit of later views in estimated tokens. */
    viewTokens: z.int().positive(),
  }),
}

/** What a view would hold without a budget, as far as events tell; each prepared view sets it right. */
export type ViewSize = {
  tokens: number
  events: number
  /** No reply since the last compaction: another one now could only do the same again. */
  fresh: boolean
}

export const emptyView: ViewSize = {tokens: 0, events: 0, fresh: true}

export function evolveViewSize(size: ViewSize, event: Event): ViewSize {
  switch (event.kind) {
    case 'message.posted':
    case 'tool.returned':
      return grown(size, event)
    case 'model.replied':
      return {...grown(size, event), fresh: false}
    case 'step.prepared':
      return {...size, events: size.events + 1, ...event.data.manifest.whole}
    case 'view.refused':
      return {...size, fresh: false}
    case 'view.compacted':
      return {tokens: event.data.tokens, events: event.data.events, fresh: true}
    default:
      return size
  }
}

function grown(size: ViewSize, event: Event): ViewSize {
  return {...size, tokens: size.tokens + estimateTokens(event.data), events: size.events + 1}
}
