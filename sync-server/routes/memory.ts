import {memoryIdSchema} from '../../runtime/protocol/ids.ts'
import {memoryChangeSchema} from '../../runtime/protocol/memory.ts'
import {recallAnswerSchema, recallAskSchema} from '../../runtime/protocol/memory-recall.ts'
import {
  memoryChangeAnswerSchema,
  memoryPageSchema,
  memoryPushAnswerSchema,
  memoryPushSchema,
} from '../../runtime/protocol/memory-wire.ts'
import {limits} from '../../runtime/protocol/version.ts'
import {changeMemory} from '../authority/memory.ts'
import type {MemoryContext} from '../authority/memory-context.ts'
import {admitProposals} from '../authority/memory-proposals.ts'
import type {App} from './http.ts'
import {digits, handle, route} from './route.ts'

const proposeMemory = route({
  name: 'proposeMemory',
  method: 'POST',
  path: '/v1/memory/proposals',
  summary: 'Proposes items of memory and gives each its own verdict; the same one again changes nothing.',
  body: memoryPushSchema,
  answers: {200: memoryPushAnswerSchema},
})

const pullMemory = route({
  name: 'pullMemory',
  method: 'GET',
  path: '/v1/memory/items',
  summary: 'A page of what changed in the memory of the caller after a cursor, oldest change first.',
  query: {after: digits('a cursor of an earlier page').default('0').transform(Number)},
  answers: {200: memoryPageSchema},
})

const change = route({
  name: 'changeMemory',
  method: 'POST',
  path: '/v1/memory/items/:memory/change',
  summary: 'Accepts, corrects or forgets an item; the item as it then stands.',
  params: {memory: memoryIdSchema},
  body: memoryChangeSchema,
  answers: {200: memoryChangeAnswerSchema},
  errors: ['not_found', 'refused', 'conflict'],
})

const recall = route({
  name: 'recallMemory',
  method: 'POST',
  path: '/v1/memory/recall',
  summary: 'What memory knows now about a question or under a key, best first.',
  body: recallAskSchema,
  answers: {200: recallAnswerSchema},
})

/** Registers the routes of the caller's own memory. No route can name another subject. [ID-4] */
export function memoryRoutes(app: App, context: MemoryContext): void {
  handle(app, proposeMemory, async ({body: {proposals}, principal}) => ({
    verdicts: await admitProposals(context, principal, proposals),
  }))

  handle(app, pullMemory, async ({query: {after}, principal}) => {
    const {changes, head} = await context.store.memory.changes(principal, after, limits.memoryPage)
    const cursor = changes.at(-1)?.cursor ?? head
    return {items: changes.map(({item}) => item), cursor, more: cursor < head}
  })

  handle(app, change, async ({params: {memory}, body, principal}) => ({
    item: await changeMemory(context, principal, memory, body),
  }))

  handle(app, recall, async ({body, principal}) => ({recalled: await context.search.recall(principal, body)}))
}
