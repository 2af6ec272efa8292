import type {Json, ModelView} from '../runtime-types.ts'

/** `place` counts the messages of the prompt. */
export type SeenPart = {place: number; title: string; text: string}

/** The prompt as blocks that a person can read: who speaks, and what exactly was sent. */
export function seenParts(view: ModelView): SeenPart[] {
  const messages = Array.isArray(view.prompt) ? view.prompt : []
  return messages.map((message, place) => {
    const {role, content} = record(message)
    return {place, title: roleWords(role, content), text: contentWords(content)}
  })
}

function roleWords(role: Json | undefined, content: Json | undefined): string {
  switch (role) {
    case 'system':
      return 'Instructions'
    case 'assistant':
      return 'Agent'
    case 'tool':
      return 'Results'
    default:
      return Array.isArray(content) && content.length > 1 ? 'Working state, documents and summary' : 'Person'
  }
}

function contentWords(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return (Array.isArray(content) ? content : []).map(partWords).join('\n\n')
}

function partWords(part: Json): string {
  const {type, text, toolName, input, output} = record(part)
  if (typeof text === 'string') return text
  if (type === 'tool-call') return `Calls ${String(toolName)} with ${JSON.stringify(input)}`
  return `${String(toolName)}: ${JSON.stringify(output)}`
}

export function verdictWords(view: ModelView): string {
  return view.exact
    ? 'Rebuilt from the record and checked: these are exactly the bytes that the model was sent.'
    : 'Not everything can be rebuilt any more. What is missing:'
}

export function sizeWords(view: ModelView): string {
  const changed = view.transforms.map(({part, how}) => `${part.replace(/^evt_.*/, 'an entry')} ${howWords[how]}`)
  const size = `Step ${view.number}, about ${view.estimatedTokens.toLocaleString('en-GB')} tokens`
  return [size, ...new Set(changed)].join('; ')
}

const howWords: Record<ModelView['transforms'][number]['how'], string> = {
  redacted: 'without its secrets',
  truncated: 'cut to its share',
  left_out: 'partly left out',
  over_budget: 'larger than its budget',
  well_formed: 'broken characters replaced',
}

function record(value: Json): {[key: string]: Json} {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}
