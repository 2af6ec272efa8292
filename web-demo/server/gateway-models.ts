import type {Models} from '../../sync-server/index.ts'

export type ModelSettings = {url: string; model: string; key: string | undefined}

/** Reads which model the server offers; none is a fine answer, then devices fall back to their rules. */
export function modelSettings(environment: NodeJS.ProcessEnv): ModelSettings | null {
  const {HOLDFAST_MODEL_URL: url, HOLDFAST_MODEL: model, HOLDFAST_MODEL_KEY: key} = environment
  if (!url && !model) return null
  if (!url || !model) throw new Error('HOLDFAST_MODEL_URL and HOLDFAST_MODEL have to be set together.')
  return {url, model, key}
}

/** Any endpoint that speaks the OpenAI protocol; the key stays in this process. */
export async function gatewayModels(settings: ModelSettings | null): Promise<Models> {
  if (!settings) return {}
  const {createOpenAICompatible} = await import('@ai-sdk/openai-compatible')
  const {url, model, key} = settings
  const provider = createOpenAICompatible({
    name: 'gateway',
    baseURL: url,
    includeUsage: true,
    ...(key && {apiKey: key}),
  })
  return {[model]: provider.chatModel(model)}
}
