import type {StandingEffects} from '../runtime-types.ts'

/** What a branch does not undo, in one sentence; null when there is nothing. [RUN-6] */
export function standingSentence({effects, missing}: StandingEffects): string | null {
  const done = effects.filter(({status}) => status === 'executed').length
  const open = effects.length - done
  const parts = [
    done > 0 ? `${counted(done)} carried out after this point and ${done === 1 ? 'stands' : 'stand'}` : null,
    open > 0 ? `${counted(open)} under way and may still happen` : null,
    missing.length > 0 ? 'part of the record is not on this device, so there may be more' : null,
  ].filter(part => part !== null)
  return parts.length > 0 ? `A branch undoes nothing: ${parts.join('; ')}.` : null
}

function counted(n: number): string {
  return n === 1 ? 'one operation was' : `${n} operations were`
}
