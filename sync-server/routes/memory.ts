import * as z from 'zod'
import {parse} from '../../runtime/protocol/errors.ts'
import {memoryIdSchema} from '../../runtime/protocol/ids.ts'
import {memoryChangeSchema} from '../../runtime/protocol/memory.ts'
import {recallAskSchema} from '../../runtime/protocol/memory-recall.ts'
import {type MemoryPage, memoryPushSchema} from '../../runtime/protocol/memory-wire.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {changeMemory} from '../authority/memory.ts'
import type {MemoryContext} from '../authority/memory-context.ts'
import {admitProposals} from '../authority/memory-proposals.ts'
import {type App, readBody} from './http.ts'

const cursorSchema = z.string().regex(/^\d{1,15}$/, 'expected a cursor of an earlier page')

/** Every route is the caller's own memory; there is no way to name somebody else's. [ID-4] */
export function memoryRoutes(app: App, context: MemoryContext): void {
  app.post('/v1/memory/proposals', async c => {
    const {proposals} = await readBody(c, memoryPushSchema)
    return c.json({verdicts: await admitProposals(context, c.get('principal'), proposals)})
  })

  app.get('/v1/memory/items', async c => {
    const after = Number(parse(cursorSchema, c.req.query('after') ?? '0', 'after'))
    const {changes, head} = await context.store.memory.changes(c.get('principal'), after, limits.memoryPage)
    const cursor = changes.at(-1)?.cursor ?? head
    return c.json({items: changes.map(({item}) => item), cursor, more: cursor < head} satisfies MemoryPage)
  })

  app.post('/v1/memory/items/:id/change', async c => {
    const id = parse(memoryIdSchema, c.req.param('id'), 'memory')
    const change = await readBody(c, memoryChangeSchema)
    return c.json({item: await changeMemory(context, c.get('principal'), id, change)})
  })

  app.post('/v1/memory/recall', async c => {
    const ask = await readBody(c, recallAskSchema)
    return c.json({recalled: await context.search.recall(c.get('principal'), ask)})
  })
}
