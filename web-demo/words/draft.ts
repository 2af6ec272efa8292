/** The name of the document that Maya and the agent write together. */
export const draftDocument = 'draft'
