import type {ModelGateway} from '../loop/define.ts'
import type {MemoryExtractor} from '../memory/extractor.ts'
import type {Embedder} from '../protocol/embedder.ts'
import type {Environment} from '../protocol/environment.ts'
import type {DeviceId} from '../protocol/ids.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {DeviceMemoryStore} from '../storage/memory-store.ts'
import type {MemoryLink} from '../sync/memory-sync.ts'
import type {Publisher} from './runtime-service.ts'

/** What an application chooses about memory on a device. */
export type MemoryChoice = {
  /** Reads each run that ended on this device and proposes memory items. Default: none, so nothing is proposed. */
  extractor?: MemoryExtractor
  /** Adds recall by meaning. Default: full text only. */
  embedder?: Embedder
}

export type DeviceMemoryParts = MemoryChoice & {
  memory: DeviceMemoryStore
  device: DeviceId
  store: DeviceStore
  link: MemoryLink | null
  gateway: ModelGateway
  environment: Environment
  publisher: Publisher
  subject(): string | null
}
