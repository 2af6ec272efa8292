import {exactText} from './words/exact.ts'

export const people = {
  maya: {name: 'Maya', job: 'Support', roles: ['support']},
  theo: {name: 'Theo', job: 'Team lead', roles: ['support', 'approver']},
  ines: {name: 'Ines', job: 'Head of service', roles: ['support', 'approver', 'head']},
  ben: {name: 'Ben', job: 'Support', roles: ['support']},
} as const
export type Person = keyof typeof people

export function isPerson(subject: string): subject is Person {
  return Object.hasOwn(people, subject)
}

/** Who works at the approvals page; whoever has no role there sees what was lent to them. */
export const inboxPeople = ['theo', 'ines', 'ben'] as const satisfies readonly Person[]

export function inboxPerson(as: string | null): Person {
  return inboxPeople.find(person => person === as) ?? 'theo'
}

/** A subject that is not one of the demo people is shown as it is. */
export function personName(subject: string): string {
  return isPerson(subject) ? people[subject].name : exactText(subject)
}
