/** The documents that Maya and the agent write together. */
export const draftDocument = 'draft'
export const planDocument = 'plan'

export const documentWords = {
  [draftDocument]: {
    tab: 'Reply',
    title: 'Reply to the customer',
    empty: 'The reply appears here. You and the agent can both edit it.',
    hint: 'Nothing written yet. Start typing, or let the agent do it.',
  },
  [planDocument]: {
    tab: 'Plan',
    title: 'Plan for this case',
    empty: 'The plan appears here. You and the agent can both edit it.',
    hint: 'No plan yet. Note what is to be done; the agent reads it before every step.',
  },
} as const
export type DocumentName = keyof typeof documentWords
