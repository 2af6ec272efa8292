import type {LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart} from '@ai-sdk/provider'
import type {ModelCallOptions} from '../loop/language-model.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {modelCallOption, modelCallSchema} from '../protocol/model-call.ts'
import type {ServerLink} from './server-link.ts'

/**
 * A model behind the server's gateway, which holds its keys. A call with a name in its provider options is executed
 * once, however often it is requested. The name itself is not sent to any provider.
 */
export function gatewayLanguageModel(link: Pick<ServerLink, 'streamModel'>, name: string): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'gateway',
    modelId: name,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new HoldfastError('misconfigured', 'the gateway streams; call doStream')),
    doStream: async options => {
      const stream = await link.streamModel(name, withoutName(options), nameOf(options))
      // The server's provider may use version 3, whose parts differ only for files.
      return {stream: stream as ReadableStream<LanguageModelV4StreamPart>}
    },
  }
}

function nameOf({providerOptions}: LanguageModelV4CallOptions) {
  const named = modelCallSchema.safeParse(providerOptions?.[modelCallOption])
  return named.success ? named.data : null
}

function withoutName({providerOptions, ...options}: LanguageModelV4CallOptions): ModelCallOptions {
  const {[modelCallOption]: _, ...others} = providerOptions ?? {}
  // A view's prompt has no file parts, the only ones that differ between the two versions of the specification.
  return (Object.keys(others).length > 0 ? {...options, providerOptions: others} : options) as ModelCallOptions
}
