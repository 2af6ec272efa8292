import * as z from 'zod'
import {fetchJson} from './fetch-json.ts'
import type {Person} from './people.ts'

const answerSchema = z.object({token: z.string(), expiresAt: z.number()})
type Kept = z.infer<typeof answerSchema>

/** A token with less than this left is renewed before it is used. */
const marginMs = 60_000

/**
 * Hands out the demo person's token: the kept one while it lasts, a new one before it ends, and offline the last one
 * there was, because the device has to know who is writing. It is kept in localStorage, which a tab opened offline can
 * read at once; that is good enough for a token which anybody can ask this demo for, and for no other.
 */
export function demoToken(person: Person): () => Promise<string> {
  const key = `demo-token:${person}`
  return async () => {
    const last = kept(key)
    if (last && last.expiresAt - Date.now() > marginMs) return last.token
    try {
      return await renew(person, key)
    } catch (error) {
      if (last) return last.token
      throw error
    }
  }
}

async function renew(person: Person, key: string): Promise<string> {
  const answer = answerSchema.parse(await fetchJson(`/demo/token?as=${person}`))
  localStorage.setItem(key, JSON.stringify(answer))
  return answer.token
}

function kept(key: string): Kept | null {
  try {
    return answerSchema.parse(JSON.parse(localStorage.getItem(key) ?? 'null'))
  } catch {
    return null
  }
}
