import {signIn} from './sign-in.ts'

type PersonOfRuntime = {
  get(): {subject: string} | null
  subscribe(listener: () => void): () => void
}

const nobody = 'nobody'
const listeners = new Set<() => void>()
let shown: string = signIn.get() ?? nobody
/** Until the runtime has named somebody, it is the person who signed in at this browser. */
let isNamed = false

/**
 * The person whose data is on this page, so whatever is typed here is theirs. It is not `signIn`: that changes before the
 * other database is open, also when another tab changes it, and stays changed when the switch fails. [ID-6]
 */
export const pagePerson = {
  get: (): string => shown,
  isNobody: (): boolean => shown === nobody,
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
  /** Takes the person from the sign-in, until a runtime names one. */
  followSignIn(): void {
    signIn.subscribe(() => {
      if (!isNamed) become(signIn.get() ?? nobody)
    })
  },
  /** Takes the person from the runtime of this page, once it has one. */
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
