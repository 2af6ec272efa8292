import {signIn} from './sign-in.ts'

type PersonOfRuntime = {
  get(): {subject: string} | null
  subscribe(listener: () => void): () => void
}

const nobody = 'nobody'
const listeners = new Set<() => void>()
let shown: string = signIn.get() ?? nobody
/** True once the runtime has named a person. Until then, the person who signed in at this browser is used. */
let isNamed = false

/**
 * The person whose data this page shows. What is typed here belongs to this person. `signIn` can differ: it changes before
 * the next person's database is open, it changes when another tab changes it, and it stays changed when a switch fails.
 * [ID-6]
 */
export const pagePerson = {
  get: (): string => shown,
  isNobody: (): boolean => shown === nobody,
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
  /** Uses the person of the sign-in until the runtime names one. */
  followSignIn(): void {
    signIn.subscribe(() => {
      if (!isNamed) become(signIn.get() ?? nobody)
    })
  },
  /** Uses the person that the runtime of this page names, from the first one on. */
  follow(person: PersonOfRuntime): void {
    const look = () => {
      const subject = person.get()?.subject ?? null
      isNamed ||= subject !== null
      if (isNamed) become(subject ?? nobody)
    }
    person.subscribe(look)
    look()
  },
}

function become(person: string): void {
  if (person === shown) return
  shown = person
  for (const listener of [...listeners]) listener()
}
