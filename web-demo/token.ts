import * as z from 'zod'
import {fetchJson} from './fetch-json.ts'
import type {Person} from './people.ts'
import {signIn} from './sign-in.ts'

const answerSchema = z.object({token: z.string(), expiresAt: z.number()})
type Kept = z.infer<typeof answerSchema>

/** A token with less than this left is renewed before it is used. */
const marginMs = 60_000

const kept = new Map<Person, Kept>()

/** Hands out a person's token: the last one while it lasts, then another. It is kept nowhere but in this page. */
export function demoToken(person: Person): () => Promise<string> {
  return async () => {
    const last = kept.get(person)
    if (last && last.expiresAt - Date.now() > marginMs) return last.token
    const answer = answerSchema.parse(await fetchJson(`/demo/token?as=${person}`))
    kept.set(person, answer)
    return answer.token
  }
}

/** The token of whoever has signed in at the desk; null while nobody has. */
export async function deskToken(): Promise<string | null> {
  const person = signIn.get()
  return person && (await demoToken(person)())
}
