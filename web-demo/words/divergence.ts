import type {SessionView} from '../runtime-types.ts'

export type Divergence = NonNullable<SessionView['divergence']>

/** What was done apart, counted in words: "2 answers and 1 tool result". */
export function heldWords({replies, toolResults}: Pick<Divergence, 'replies' | 'toolResults'>): string {
  const parts = [counted(replies, 'answer'), counted(toolResults, 'tool result')].filter(part => part !== null)
  return parts.length > 0 ? parts.join(' and ') : 'no answer'
}

/** What stands and what never happened: the person must not have to guess either. */
export function standingWords({proposals, standing}: Pick<Divergence, 'proposals' | 'standing'>): string[] {
  const sentences: string[] = []
  if (proposals.length > 0) {
    const what = proposals.length === 1 ? 'One proposal' : `${proposals.length} proposals`
    sentences.push(`${what} never reached the server: nothing of it was carried out, and no money moved.`)
  }
  if (standing.length > 0) sentences.push('What was written into the draft stands, whatever you choose.')
  return sentences
}

/** What became of it, for the line that stays. */
export function settledWords(choice: NonNullable<Divergence['resolution']>['choice']): string {
  switch (choice) {
    case 'keep':
      return 'What this device did apart goes on in a branch.'
    case 'merge':
      return 'What this device did apart was told here in one message.'
    case 'discard':
      return 'What this device did apart is put away. It is kept on this device.'
  }
}

function counted(n: number, what: string): string | null {
  if (n === 0) return null
  return n === 1 ? `one ${what}` : `${n} ${what}s`
}
