export const people = {
  maya: {name: 'Maya', job: 'Support', roles: ['support']},
  theo: {name: 'Theo', job: 'Team lead', roles: ['support', 'approver']},
} as const
export type Person = keyof typeof people

export function isPerson(subject: string): subject is Person {
  return Object.hasOwn(people, subject)
}

/** A subject that is not one of the demo people is shown as it is. */
export function personName(subject: string): string {
  return isPerson(subject) ? people[subject].name : subject
}
