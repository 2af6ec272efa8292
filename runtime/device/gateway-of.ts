import type {ModelGateway} from '../loop/define.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {gatewayLanguageModel} from '../sync/gateway-model.ts'
import type {CuttableLink} from '../sync/http-link.ts'

/** Returns the server's models over this device's link. Without a link, each use of a model fails with `misconfigured`. */
export function gatewayOf(link: CuttableLink | null): ModelGateway {
  if (!link) {
    const none = () => new HoldfastError('misconfigured', 'model: a runtime without a server has no model gateway')
    return {
      models: () => Promise.reject(none()),
      open: () => {
        throw none()
      },
    }
  }
  return {models: () => link.models(), open: name => gatewayLanguageModel(link, name)}
}
