import type {LanguageModelV3} from '@ai-sdk/provider'
import {HoldfastError} from '../protocol/errors.ts'
import type {ServerLink} from './server-link.ts'

/** A model behind the server's gateway, which holds its keys. */
export function gatewayLanguageModel(link: Pick<ServerLink, 'streamModel'>, name: string): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'gateway',
    modelId: name,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new HoldfastError('misconfigured', 'the gateway streams; call doStream')),
    doStream: async options => ({stream: await link.streamModel(name, options)}),
  }
}
