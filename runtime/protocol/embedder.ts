/**
 * Turns texts into vectors whose cosine says how near their meanings are. `name` changes whenever the same text would
 * get another vector: vectors of two names are never compared. The answer has one vector a text, in their order, each of
 * `dimensions` numbers.
 */
export interface Embedder {
  readonly name: string
  readonly dimensions: number
  embed(texts: readonly string[]): Promise<Float32Array[]>
}
