import type {ShownProblem} from '../hooks.ts'
import {Banner} from './banner.tsx'
import {BannerDetails} from './banner-details.tsx'

/** One banner for each failed action, with its technical details on request. */
export function Problems({problems, onDismiss}: {problems: readonly ShownProblem[]; onDismiss: (id: string) => void}) {
  return problems.map(({id, words, details}) => (
    <Banner key={id} tone="bad" onDismiss={() => onDismiss(id)}>
      {words}
      <BannerDetails details={details} />
    </Banner>
  ))
}
