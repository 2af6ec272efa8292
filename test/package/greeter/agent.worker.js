import {defineAgent, serveAgent} from 'holdfast/worker'

const usage = {
  inputTokens: {total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0},
  outputTokens: {total: 1, text: 1, reasoning: 0},
}
const parts = [
  {type: 'stream-start', warnings: []},
  {type: 'text-start', id: 'text'},
  {type: 'text-delta', id: 'text', delta: 'Hello.'},
  {type: 'text-end', id: 'text'},
  {type: 'finish', finishReason: {unified: 'stop', raw: 'stop'}, usage},
]

const model = {
  specificationVersion: 'v3',
  provider: 'fixture',
  modelId: 'greeter',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('Holdfast streams.')),
  async doStream() {
    const start = controller => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    }
    return {stream: new ReadableStream({start})}
  },
}

serveAgent(defineAgent({name: 'greeter', version: '1.0.0', instructions: 'Greet.', tools: []}), {model, tools: {}})
