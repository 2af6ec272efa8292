import {HoldfastError} from '../protocol/errors.ts'
import type {DeviceMemory} from './device-memory.ts'
import type {RuntimeService} from './runtime-service.ts'

type MemoryMethods = Pick<RuntimeService, 'memory' | 'recallMemory' | 'changeMemory' | 'undoMemory'>

export function memoryService(memory: DeviceMemory | null): MemoryMethods {
  const opened = (): DeviceMemory => {
    if (memory) return memory
    throw new HoldfastError('misconfigured', 'memory: this runtime was opened without a store for it')
  }
  return {
    memory: async () => opened().view(),
    recallMemory: async ask => opened().recallNow(ask),
    changeMemory: async (...change) => opened().change(...change),
    undoMemory: async id => opened().undo(id),
  }
}
