/** What an application sees of this room; both entries that run agents export it. */
export type {Embedder} from '../protocol/embedder.ts'
export type {ExtractorHost, MemoryDraft, MemoryExtractor, SaidInRun, SaidLine} from './extractor.ts'
export {modelExtractor} from './model-extractor.ts'
export {commonMemoryRules, type MemoryRule, ruleExtractor} from './rule-extractor.ts'
