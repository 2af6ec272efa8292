import type {Event} from './event.ts'
import type {Budgets} from './pin.ts'

/**
 * What the session has learned about how its model counts tokens, from the usage that the provider reported and from
 * views that it refused. It decides how much a view holds; the manifest records the outcome. [VIEW-4]
 */
export type Calibration = {
  /** The label of the model that it is about. */
  model: string | null
  /** Tokens as the provider counts them for one of our estimate; 1 or more. */
  ratio: number
  /** Our estimate of the view that waits for its reply. */
  estimated: number | null
  /** The largest view, in our estimate, after a provider refused one; null while none was refused. */
  viewTokens: number | null
  /** Refused views in a row. */
  refusals: number
}

export const initialCalibration: Calibration = {model: null, ratio: 1, estimated: null, viewTokens: null, refusals: 0}

/** What a provider adds to every prompt of its own accord must not be taken for a dense text. */
const addedTokens = 400
/** Below this estimate a single reply says little. */
const leastEstimate = 200
const highestRatio = 8
const smallestView = 64

export function evolveCalibration(state: Calibration, event: Event): Calibration {
  switch (event.kind) {
    case 'run.started':
      return about(state, event.data.pin.model.label)
    case 'run.migrated':
      return about(state, event.data.to.model.label)
    case 'step.prepared':
      return {...state, estimated: event.data.manifest.estimatedTokens}
    case 'model.replied':
      return {...learned(state, event.data.usage.inputTokens), estimated: null, refusals: 0}
    case 'view.refused':
      return {...state, estimated: null, viewTokens: event.data.viewTokens, refusals: state.refusals + 1}
    default:
      return state
  }
}

function about(state: Calibration, model: string): Calibration {
  return state.model === model ? state : {...initialCalibration, model}
}

/** Follows a denser text at once and a thinner one slowly: too small a view is safe, too large a one is refused. */
function learned(state: Calibration, inputTokens: number | null): Calibration {
  const {estimated, ratio} = state
  if (inputTokens === null || estimated === null || estimated < leastEstimate) return state
  const observed = Math.min(highestRatio, Math.max(1, (inputTokens - addedTokens) / estimated))
  const next = observed > ratio ? observed : (3 * ratio + observed) / 4
  return {...state, ratio: Math.round(next * 100) / 100}
}

/** Estimated tokens that the next view may hold. */
export function viewTokensOf({ratio, viewTokens}: Calibration, budgets: Pick<Budgets, 'viewTokens'>): number {
  const calibrated = Math.floor(budgets.viewTokens / ratio)
  return Math.max(smallestView, Math.min(calibrated, viewTokens ?? calibrated))
}

/** Room that is left below a limit that a provider has stated. */
const margin = 0.85
/** Where it states none, how much smaller the next view is. */
const blindStep = 0.6

/** The budget of the views after one of `tokens` was refused; null when there is nothing left to take away. */
export function afterRefusal(
  {tokens, least}: {tokens: number; least: number},
  {limit, counted}: {limit: number | null; counted: number | null},
): number | null {
  const blind = Math.floor(tokens * blindStep)
  const told =
    limit !== null && counted !== null && counted > 0 ? Math.floor(((limit * margin) / counted) * tokens) : blind
  const next = Math.min(told, Math.floor(tokens * 0.95))
  return next > least && next >= smallestView ? next : null
}
