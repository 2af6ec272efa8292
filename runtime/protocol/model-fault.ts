import {textStart} from './text.ts'

const expected = 'expected a language model of the AI SDK provider specification v3 or v4'

/** Returns why a value is not a model of the provider specification v3 or v4; null when it is one. */
export function modelFault(model: unknown): string | null {
  if (typeof model === 'string') {
    return `${expected}, got the name ${JSON.stringify(textStart(model, 100))}; create the model with a provider package`
  }
  if ((typeof model !== 'object' && typeof model !== 'function') || model === null) {
    return `${expected}, got ${model === null ? 'null' : typeof model}`
  }
  const {specificationVersion: version, provider, modelId, doStream} = model as Partial<Record<string, unknown>>
  if (version !== 'v3' && version !== 'v4') {
    const came =
      version === undefined ? 'an object without a specificationVersion' : `version ${JSON.stringify(version)}`
    return `${expected}, got ${came}; update the provider package`
  }
  if (typeof provider !== 'string' || typeof modelId !== 'string' || provider === '' || modelId === '') {
    return `${expected}, got one without a provider or modelId`
  }
  return typeof doStream === 'function' ? null : `${expected}, got one without doStream`
}
