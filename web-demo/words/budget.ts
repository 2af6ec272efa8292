import type {Passport} from '../runtime-types.ts'

/** Every bound that counts, with what is used of it; one that cannot be kept is said to be none. */
export function budgetWords(bounds: Passport['bounds']): string {
  return bounds
    .flatMap(({name, used, limit, applies}) => {
      const ofLimit = applies && limit !== null ? ` of ${amount(name, limit)}` : ''
      return used === null ? [] : `${amount(name, used)}${ofLimit} ${unitWords[name]}`
    })
    .join(', ')
}

type BoundName = Passport['bounds'][number]['name']

const unitWords: Record<BoundName, string> = {
  steps: 'steps',
  calls: 'tool calls',
  tokens: 'tokens',
  cost: 'of money',
  wall: 'seconds of work',
}

function amount(name: BoundName, value: number): string {
  const shown = name === 'wall' ? Math.round(value / 1000) : value
  return shown.toLocaleString('en-GB', {maximumFractionDigits: 4})
}
