import {expect, test} from 'vitest'
import * as z from 'zod'
import {defineAgent, defineTool} from '../../runtime/loop/define.ts'
import {openRuntime} from '../../runtime/node.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {createGate} from '../support/gate.ts'

const save = defineTool({name: 'save', description: 'x', effect: 'local', input: z.strictObject({})})
const agent = defineAgent({name: 'desk', version: '1', instructions: 'x', tools: [save]})

async function saving(fails = false) {
  const gate = createGate()
  const model = scriptedModel([{calls: [{tool: 'save', input: {}}]}, {text: 'Other.'}, {text: 'Done.'}])
  const runtime = await openRuntime({
    agent,
    model,
    dataDir: 'memory://',
    tools: {
      save: async (_, {sql}) => {
        await gate.pass()
        await sql('insert into notes values ($1)', ['x'])
        if (fails) throw new Error('no')
        return {saved: true}
      },
    },
  })
  await runtime.db.exec('create table notes (text text)')
  const notes = async () => (await runtime.db.query('select 1 from notes')).rows.length
  return {gate, runtime, notes, session: await runtime.openSession({agent: 'desk'})}
}

test.each([
  ['commits with its result', false, 1],
  ['leaves nothing when it fails', true, 0],
])(
  '[OP-1] while a local tool is slow, messages and other sessions go on; what it writes then %s',
  async (_, fails, rows) => {
    const {gate, runtime, notes, session} = await saving(fails)
    await session.send('Save.')
    await gate.reached(1)
    await session.send('More.')
    const other = await runtime.openSession({agent: 'desk'})
    await other.send('Hello.')
    expect((await other.settled()).entries.at(-1)).toMatchObject({type: 'reply', text: 'Other.'})
    gate.open()
    const view = await session.settled()
    expect(view.entries.filter(({type}) => type === 'tool')).toMatchObject([
      {result: {outcome: fails ? 'error' : 'ok'}},
    ])
    expect(view).toMatchObject({status: 'completed'})
    expect(await notes()).toBe(rows)
    await runtime.close()
  },
)

test('[RUN-3] the policy fork keeps the text in a session of which the server has nothing', async () => {
  const {gate, runtime, session} = await saving()
  await session.send('Save.')
  await gate.reached(1)
  const branch = await session.send('Apart.', {policy: 'fork'})
  expect(branch.id).not.toBe(session.id)
  expect((await branch.settled()).entries).toMatchObject([{type: 'message', text: 'Apart.'}, {text: 'Other.'}])
  gate.open()
  await session.settled()
  await runtime.close()
})
