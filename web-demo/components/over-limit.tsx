type Props = {
  id: string
  text: string
  /** In characters. */
  limit: number
}

export function isOver(text: string, limit: number): boolean {
  return text.trim().length > limit
}

/**
 * Says that a text is too long to be sent. The field has no `maxlength`: a browser would cut a pasted text without a
 * word. Always in the page, so that a screen reader reads it when it changes.
 */
export function OverLimit({id, text, limit}: Props) {
  const number = (n: number) => n.toLocaleString('en-GB')
  return (
    <p id={id} className="over-limit" role="status">
      {isOver(text, limit) &&
        `This text has ${number(text.trim().length)} characters; at most ${number(limit)} can be sent. Shorten it first. It stays here.`}
    </p>
  )
}
