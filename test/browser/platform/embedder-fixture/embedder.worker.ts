import {sentenceEmbedder} from '../../../../runtime/embedder.ts'

self.onmessage = async ({data: {url, texts}}: MessageEvent<{url: string; texts: string[]}>) => {
  try {
    const vectors = await sentenceEmbedder({url}).embed(texts)
    self.postMessage({vectors: vectors.map(vector => [...vector])})
  } catch (error) {
    self.postMessage({failed: String(error)})
  }
}
