// Runs in a project that only has the packed package: a user's own crash test of a user's own agent.
import {defineAgent, defineTool} from 'holdfast'
import {crashEverywhere, fakeEnvironment, handFlushed, promptModel, said} from 'holdfast/testing'
import * as z from 'zod'

const input = z.object({text: z.string()})
const keep = defineTool({name: 'keep', description: 'Keep a text.', effect: 'local', input})
const agent = defineAgent({name: 'keeper', version: '1.0.0', instructions: 'Keep.', tools: [keep]})

const report = await crashEverywhere({
  agent,
  model: promptModel(prompt =>
    prompt.at(-1).role === 'tool' ? {text: 'Kept.'} : {calls: [{tool: 'keep', input: {text: said(prompt).at(-1)}}]},
  ),
  tools: {
    keep: async ({text}, {sql}) => ({kept: (await sql('insert into kept values ($1) returning text', [text])).length}),
  },
  prepare: db => db.exec('create table if not exists kept (text text)'),
  points: 'distinct',
  async scenario(scene) {
    const session = await scene.at('laptop').open()
    await session.send('a kettle')
    await session.until(view => view.status === 'completed')
  },
})
console.log(
  JSON.stringify({
    planned: report.planned > 5 && report.deaths.length >= report.planned,
    failures: report.failures,
    link: typeof handFlushed,
    ids: new Set([1, 2].map(() => fakeEnvironment({seed: 'a'}).id('session'))).size,
  }),
)
