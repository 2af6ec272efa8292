import {isVisible} from './text.ts'

/**
 * Why a reply is incomplete: `cut` at a limit, `filtered` by the provider, or `empty` when it holds no text for the
 * person (reasoning at most).
 */
export type ReplyFlaw = 'cut' | 'filtered' | 'empty'

type Reply = {
  content: readonly {type: string; text?: string | undefined}[]
  finish: string
  cut?: string | undefined
  blobs?: readonly unknown[] | undefined
}

/**
 * Returns null for a reply that calls a tool: the run continues with the results. Only a reply without calls can end a
 * run.
 */
export function flawOf({content, finish, cut}: Reply): ReplyFlaw | null {
  if (content.some(({type}) => type === 'call')) return null
  if (finish === 'content-filter') return 'filtered'
  if (finish === 'length' || cut !== undefined) return 'cut'
  return isSilent({content}) ? 'empty' : null
}

/** Whether the reply holds nothing that could be shown to a person. */
export function isSilent({content}: Pick<Reply, 'content'>): boolean {
  return !content.some(({type, text = ''}) => type === 'opaque' || (type === 'text' && isVisible(text)))
}

/** Returns a sentence for the person; null for a complete reply. */
export function flawWords(reply: Reply): string | null {
  const silent = isSilent(reply)
  switch (flawOf(reply)) {
    case 'filtered':
      return silent
        ? 'The provider’s content filter withheld the reply. Ask in other words.'
        : 'The provider’s content filter ended this reply before its end. Ask in other words.'
    case 'cut':
      if (reply.cut === 'time') return 'The reply was stopped at the time limit of one model call.'
      if (reply.blobs) return 'Only the beginning of this long reply is shown here. The whole reply is kept beside it.'
      if (reply.cut === 'size') return 'The reply was longer than can be kept and was cut.'
      return silent
        ? 'The model reached its output limit before it wrote an answer.'
        : 'The reply was cut at the model’s output limit.'
    case 'empty':
      return reply.content.some(({type}) => type === 'reasoning')
        ? 'The model reasoned and gave no answer.'
        : 'The model gave an empty answer.'
    default:
      return null
  }
}
