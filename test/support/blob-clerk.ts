import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {
  type AgentHost,
  agentHost,
  type LocalToolContext,
  type ModelSource,
  type ToolContext,
} from '../../runtime/node.ts'
import {promptModel, said} from '../../runtime/testing.ts'

const nothing = z.strictObject({})
const blob = z.strictObject({blob: z.string()})

/** Gives back whatever the test wants it to. */
export const fetchFile = defineTool({name: 'fetchFile', description: 'Fetches it.', effect: 'read', input: nothing})
export const archive = defineTool({name: 'archive', description: 'Archives it.', effect: 'local', input: nothing})
export const measure = defineTool({name: 'measure', description: 'Measures a blob.', effect: 'read', input: blob})
export const inspect = defineTool({name: 'inspect', description: 'Looks at a blob.', effect: 'local', input: blob})

export const clerk = defineAgent({
  name: 'desk',
  version: '1.0.0',
  instructions: 'Keep records.',
  tools: [fetchFile, archive, measure, inspect],
})

/** "fetchFile" calls that tool; "measure sha256:…" calls it with that blob. Each prompt is kept in `prompts`. */
export function clerkModel(prompts: unknown[] = []): ModelSource {
  return promptModel(prompt => {
    prompts.push(prompt)
    if (prompt.at(-1)?.role === 'tool') return {text: 'Done.'}
    const [tool = '', id] = (said(prompt).at(-1) ?? '').split(' ')
    return {calls: [{tool, input: id ? {blob: id} : {}}]}
  })
}

/** A clerk whose tools give back what `files` makes. */
export function clerkHost(files: () => unknown, model: ModelSource = clerkModel()): AgentHost {
  const size = async ({blob}: {blob: string}, {blobs}: ToolContext | LocalToolContext) => {
    const bytes = await blobs.read(blob)
    return {bytes: bytes.length, last: bytes.at(-1) ?? null}
  }
  return agentHost(clerk, {
    model,
    tools: {
      fetchFile: () => files() as never,
      archive: async (_, {sql}) => {
        await sql('create table if not exists archived (what text)')
        await sql(`insert into archived values ('once')`)
        return files() as never
      },
      measure: size,
      inspect: size,
    },
  })
}
