import {redactSecrets, redactText} from '../protocol/redact-secrets.ts'
import type {ReplyPart} from '../protocol/run.ts'
import type {Readable} from './select-events.ts'

/**
 * The event without anything shaped like a credential, the same object when there is none. What a provider has signed
 * stays as it is, or it would no longer be taken back. [VIEW-5]
 */
export function redactEvent(event: Readable): Readable {
  switch (event.kind) {
    case 'message.posted': {
      const text = redactText(event.data.text)
      return text === event.data.text ? event : {...event, data: {...event.data, text}}
    }
    case 'model.replied': {
      const content = event.data.content.map(redactPart)
      const same = content.every((part, i) => part === event.data.content[i])
      return same ? event : {...event, data: {...event.data, content}}
    }
    case 'tool.returned': {
      const output = redactSecrets(event.data.output)
      return output === event.data.output ? event : {...event, data: {...event.data, output}}
    }
  }
}

function redactPart(part: ReplyPart): ReplyPart {
  if (part.providerMetadata || part.type === 'opaque') return part
  if (part.type === 'call') {
    const input = redactSecrets(part.input)
    return input === part.input ? part : {...part, input}
  }
  const text = redactText(part.text)
  return text === part.text ? part : {...part, text}
}
