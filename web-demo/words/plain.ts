import type {TranscriptEntry} from '../runtime-types.ts'
import {exactJson} from './exact.ts'

/** An entry as plain text, for wherever it cannot be shown as usual. */
export function plainTextOf(entry: TranscriptEntry): string {
  switch (entry.type) {
    case 'message':
    case 'reply':
      return entry.text
    case 'notice':
      return entry.detail === undefined ? entry.text : `${entry.text}\n${entry.detail}`
    case 'tool':
      return jsonText({tool: entry.tool, input: entry.input, result: entry.result, operation: entry.operation})
  }
}

export function authorOf(entry: TranscriptEntry): string {
  return {message: 'You', reply: 'Agent', tool: 'Tool', notice: 'Note'}[entry.type]
}

/** JSON for people to read; what JSON cannot hold must not stop the page. */
export function jsonText(value: unknown): string {
  try {
    return exactJson(JSON.stringify(value, null, 2) ?? String(value))
  } catch (error) {
    return `This value could not be written as JSON: ${error instanceof Error ? error.message : String(error)}`
  }
}
