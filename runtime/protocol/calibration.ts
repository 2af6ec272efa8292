import type {Event} from './event.ts'
import type {Budgets} from './pin.ts'

/**
 * How the session's model counts tokens, learned from reported usage and from views that the provider refused. It
 * decides how large a view may be; the manifest records the result. [VIEW-4]
 */
export type Calibration = {
  /** Label of the model that these values belong to. */
  model: string | null
  /** Provider tokens per estimated token. At least 1. */
  ratio: number
  /** Estimated tokens of the view whose reply is pending. */
  estimated: number | null
  /** Upper limit of a view in estimated tokens, set after a provider refused one. Null while none was refused. */
  viewTokens: number | null
  /** Number of consecutive refusals. */
  refusals: number
}

export const initialCalibration: Calibration = {model: null, ratio: 1, estimated: null, viewTokens: null, refusals: 0}

/** Tokens that a provider may add to every prompt. Without this allowance, short prompts would look like dense text. */
const addedTokens = 400
/** Views below this estimate are too small to learn from. */
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

/**
 * Adopts a higher ratio at once and a lower one slowly: a view that is too small is safe, one that is too large is
 * refused.
 */
function learned(state: Calibration, inputTokens: number | null): Calibration {
  const {estimated, ratio} = state
  if (inputTokens === null || estimated === null || estimated < leastEstimate) return state
  const observed = Math.min(highestRatio, Math.max(1, (inputTokens - addedTokens) / estimated))
  const next = observed > ratio ? observed : (3 * ratio + observed) / 4
  return {...state, ratio: Math.round(next * 100) / 100}
}

/** Returns the size limit of the next view in estimated tokens. */
export function viewTokensOf({ratio, viewTokens}: Calibration, budgets: Pick<Budgets, 'viewTokens'>): number {
  const calibrated = Math.floor(budgets.viewTokens / ratio)
  return Math.max(smallestView, Math.min(calibrated, viewTokens ?? calibrated))
}

/** Share of the provider's stated limit that the next view aims for. */
const margin = 0.85
/** Factor for the next view when the provider stated no limit. */
const blindStep = 0.6

/** Returns the view limit after a view of `tokens` was refused; null when the view cannot be made smaller. */
export function afterRefusal(
  {tokens, least}: {tokens: number; least: number},
  {limit, counted}: {limit: number | null; counted: number | null},
): number | null {
  const blind = Math.floor(tokens * blindStep)
  const stated =
    limit !== null && counted !== null && counted > 0 ? Math.floor(((limit * margin) / counted) * tokens) : blind
  const next = Math.min(stated, Math.floor(tokens * 0.95))
  return next > least && next >= smallestView ? next : null
}
