import * as z from 'zod'

/** One order as the shop knows it: the value of the fact `order/<id>`. */
export const orderSchema = z.object({
  id: z.string(),
  customer: z.object({name: z.string(), email: z.string()}),
  placedOn: z.string(),
  status: z.enum(['processing', 'shipped', 'delivered', 'returned']),
  note: z.string(),
  items: z.array(z.object({name: z.string(), quantity: z.int().positive(), cents: z.int().nonnegative()})),
  totalCents: z.int().nonnegative(),
  refundedCents: z.int().nonnegative(),
  refundableCents: z.int().nonnegative(),
})
export type Order = z.infer<typeof orderSchema>

/** One line of a customer's list: the value of the fact `customer-orders/<customer>` is a list of these. */
export const orderLineSchema = orderSchema.pick({
  id: true,
  customer: true,
  placedOn: true,
  status: true,
  totalCents: true,
  refundedCents: true,
})
export type OrderLine = z.infer<typeof orderLineSchema>

/** What an executed refund leaves behind; the operation's receipt. */
export const receiptSchema = z.object({
  refund: z.string(),
  orderId: z.string(),
  cents: z.int().positive(),
  remainingCents: z.int().nonnegative(),
})
export type Receipt = z.infer<typeof receiptSchema>

export const refundSchema = z.object({
  id: z.string(),
  orderId: z.string(),
  cents: z.int().positive(),
  reason: z.string(),
  createdAt: z.number(),
})
export type Refund = z.infer<typeof refundSchema>

/** What `/demo/shop` answers: the tables as the server has them. */
export const shopSchema = z.object({orders: z.array(orderSchema), refunds: z.array(refundSchema)})
export type Shop = z.infer<typeof shopSchema>

export function orderKey(orderId: string): string {
  return `order/${orderId.trim().toUpperCase()}`
}

/** A name or an e-mail address, spelt so that "Lena Brandt" and "lena brandt" are one key. */
export function customerKey(customer: string): string {
  return `customer-orders/${customerSlug(customer)}`
}

export function customerSlug(customer: string): string {
  return customer
    .trim()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9@.+_-]+/g, '-')
}
