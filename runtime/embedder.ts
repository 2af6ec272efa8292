export {type SentenceEmbedderOptions, sentenceEmbedder} from './memory/sentence-embedder.ts'
export type {Embedder} from './protocol/embedder.ts'
