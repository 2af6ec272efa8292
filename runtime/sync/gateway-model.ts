import type {LanguageModelV3, LanguageModelV3CallOptions} from '@ai-sdk/provider'
import {HoldfastError} from '../protocol/errors.ts'
import {modelCallOption, modelCallSchema} from '../protocol/model-call.ts'
import type {ServerLink} from './server-link.ts'

/**
 * A model behind the server's gateway, which holds its keys. A call that is named in its provider options is made once
 * under that name, however often it is asked for; the name itself is no business of any provider.
 */
export function gatewayLanguageModel(link: Pick<ServerLink, 'streamModel'>, name: string): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'gateway',
    modelId: name,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new HoldfastError('misconfigured', 'the gateway streams; call doStream')),
    doStream: async options => ({stream: await link.streamModel(name, withoutName(options), nameOf(options))}),
  }
}

function nameOf({providerOptions}: LanguageModelV3CallOptions) {
  const named = modelCallSchema.safeParse(providerOptions?.[modelCallOption])
  return named.success ? named.data : null
}

function withoutName({providerOptions, ...options}: LanguageModelV3CallOptions): LanguageModelV3CallOptions {
  const {[modelCallOption]: _, ...others} = providerOptions ?? {}
  return Object.keys(others).length > 0 ? {...options, providerOptions: others} : options
}
