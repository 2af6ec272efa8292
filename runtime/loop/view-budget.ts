/**
 * Shares of a view's token budget. Instructions, tools, the summary and the newest exchange are always included.
 * Sections are cut to their share. The newest turns get the rest.
 */
export const viewShares = {
  summary: 0.15,
  slots: 0.15,
  /** All documents together. */
  documents: 0.2,
  memory: 0.1,
  /** Turns that stay word for word when what is before them is summarised. */
  keptTurns: 0.25,
  /** Less than this is not worth a summary. */
  worthSummary: 0.1,
} as const

/** The share of the budget at which earlier turns are summarised, unless the agent declares another. */
export const defaultCompactAt = 0.75

/** Events read back to prepare a view: bounds its cost however long the transcript is. [VIEW-4] */
export const windowEvents = 400

/** So many events are summarised however small they are, before the window would lose the oldest. */
export const compactAtEvents = 180

export const memoryItems = 12

/** Characters that a share of the budget holds. */
export function charactersOf(share: number, viewTokens: number): number {
  return Math.floor(share * viewTokens * 4)
}
