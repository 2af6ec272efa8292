import {expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/index.ts'
import type {LocalToolContext, ToolContext} from '../../runtime/worker.ts'
import {toolImplementations} from '../../web-demo/tool-implementations.ts'
import {a17} from './rules-scenes.ts'

type Reading = Awaited<ReturnType<ToolContext['facts']['read']>>

function reading(answer: () => Promise<Reading>): ToolContext {
  return {facts: {read: answer}} as unknown as ToolContext
}

const fact = (over: Partial<NonNullable<Reading>>) => ({
  key: 'order/A17',
  value: a17,
  version: '1',
  source: 'server' as const,
  ageMs: 0,
  ...over,
})

test('[FACT-2] a copy says that it is one and how old', async () => {
  const context = reading(async () => fact({source: 'replica', ageMs: 180_000}))
  expect(await toolImplementations.lookupOrder({orderId: 'a17'}, context)).toMatchObject({
    source: 'replica',
    asOf: "3 minutes ago, from this device's copy",
  })
})

test('offline with no copy is an answer, not a failure', async () => {
  const context = reading(async () => {
    throw new HoldfastError('offline', 'cut')
  })
  expect(await toolImplementations.lookupOrder({orderId: 'A17'}, context)).toHaveProperty('unavailable')
  expect(await toolImplementations.findOrders({customer: 'Lena'}, context)).toHaveProperty('unavailable')
})

test('any other failure stays one', async () => {
  const context = reading(async () => {
    throw new HoldfastError('forbidden', 'no')
  })
  await expect(toolImplementations.lookupOrder({orderId: 'A17'}, context)).rejects.toThrow('no')
})

test('what the shop does not have is not found, by either sign', async () => {
  const gone = [null, fact({value: null})]
  for (const answer of gone) {
    const output = await toolImplementations.lookupOrder(
      {orderId: 'Z1'},
      reading(async () => answer),
    )
    expect(output).toEqual({found: false, orderId: 'Z1'})
  }
})

function draft(text: string) {
  const written = {text}
  const document = {
    read: async () => written.text,
    write: async (_: string, next: string) => {
      written.text = next
    },
  }
  return {written, context: {document} as unknown as LocalToolContext}
}

test('[WRK-2] changing one passage keeps what the person wrote around it, and takes "$&" as text', async () => {
  const {written, context} = draft('Dear Lena, €46.00 it is. My own words.')
  await toolImplementations.draftReply({text: '$& €10.00', instead: '€46.00'}, context)
  expect(written.text).toBe('Dear Lena, $& €10.00 it is. My own words.')
})

test('a passage that is gone changes nothing and says so', async () => {
  const {written, context} = draft('Something else.')
  expect(await toolImplementations.draftReply({text: 'x', instead: '€46.00'}, context)).toMatchObject({written: false})
  expect(written.text).toBe('Something else.')
})

test('[WRK-2] a step goes to the end of the plan once, and what the person wrote stays', async () => {
  const {written, context} = draft('- Ask for a photo')
  expect(await toolImplementations.addToPlan({step: 'Refund A17'}, context)).toEqual({written: true})
  expect(written.text).toBe('- Ask for a photo\n- Refund A17\n')
  expect(await toolImplementations.addToPlan({step: 'Refund A17'}, context)).toMatchObject({written: false})
  expect(written.text).toBe('- Ask for a photo\n- Refund A17\n')
})
