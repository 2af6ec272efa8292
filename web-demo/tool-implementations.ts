import {HoldfastError} from '../runtime/index.ts'
import type {LocalToolContext, ToolContext} from '../runtime/worker.ts'
import type {Json} from './runtime-types.ts'
import {customerKey, orderKey, orderLineSchema, orderSchema} from './shop/order.ts'
import {asOf, type FindOutput, type LookupOutput} from './tool-outputs.ts'
import {draftDocument, planDocument} from './words/draft.ts'

type FactReading = NonNullable<Awaited<ReturnType<ToolContext['facts']['read']>>>

export const toolImplementations = {
  lookupOrder: ({orderId}: {orderId: string}, context: ToolContext) => lookUp(orderId, context),
  findOrders: ({customer}: {customer: string}, context: ToolContext) => find(customer, context),
  draftReply: ({text, instead}: {text: string; instead?: string | undefined}, {document}: LocalToolContext) =>
    writeDraft(document, text, instead),
  addToPlan: ({step}: {step: string}, {document}: LocalToolContext) => extendPlan(document, step),
}

async function lookUp(orderId: string, {facts}: ToolContext): Promise<Json> {
  const reading = await readOrSayOffline(facts, orderKey(orderId))
  if (reading === 'offline') return {unavailable: offlineReason} satisfies LookupOutput
  if (reading === null || reading.value === null) return {found: false, orderId} satisfies LookupOutput
  return {found: true, order: orderSchema.parse(reading.value), ...freshnessOf(reading)} satisfies LookupOutput
}

async function find(customer: string, {facts}: ToolContext): Promise<Json> {
  const reading = await readOrSayOffline(facts, customerKey(customer))
  if (reading === 'offline') return {unavailable: offlineReason} satisfies FindOutput
  if (reading === null || reading.value === null) return {found: false, customer} satisfies FindOutput
  const orders = orderLineSchema.array().parse(reading.value)
  return {found: true, customer, orders, ...freshnessOf(reading)} satisfies FindOutput
}

const offlineReason = 'offline: the server cannot be reached and this device has no copy'

/** Being offline is an answer that the model has to give, not a failure to hide behind. */
async function readOrSayOffline(facts: ToolContext['facts'], key: string): Promise<FactReading | null | 'offline'> {
  try {
    return await facts.read(key)
  } catch (error) {
    if (HoldfastError.is(error, 'offline', 'deadline')) return 'offline'
    throw error
  }
}

function freshnessOf(reading: FactReading) {
  return {source: reading.source, ageMs: reading.ageMs, asOf: asOf(reading)}
}

async function extendPlan(document: LocalToolContext['document'], step: string): Promise<Json> {
  const plan = await document.read(planDocument)
  if (plan.includes(step)) return {written: false, why: 'the plan has this step already'}
  await document.write(planDocument, `${plan}${plan === '' || plan.endsWith('\n') ? '' : '\n'}- ${step}\n`)
  return {written: true}
}

async function writeDraft(
  document: LocalToolContext['document'],
  text: string,
  instead: string | undefined,
): Promise<Json> {
  if (instead === undefined) {
    await document.write(draftDocument, text)
    return {written: true}
  }
  const current = await document.read(draftDocument)
  if (!current.includes(instead)) return {written: false, why: `the draft no longer contains "${instead}"`}
  // A replacer function, because "$&" in a customer's text would be read as a pattern.
  await document.write(
    draftDocument,
    current.replace(instead, () => text),
  )
  return {written: true}
}
