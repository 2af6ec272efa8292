import type {Order} from './order.ts'

type Seed = Pick<Order, 'id' | 'customer' | 'placedOn' | 'status' | 'note' | 'items'>

const customers = {
  lena: {name: 'Lena Brandt', email: 'lena.brandt@example.net'},
  jonas: {name: 'Jonas Weber', email: 'jonas.weber@example.net'},
  amira: {name: 'Amira Haddad', email: 'amira.haddad@example.org'},
  tomas: {name: 'Tomás Oliveira', email: 'tomas.oliveira@example.com'},
  sofie: {name: 'Sofie Lindqvist', email: 'sofie.l@example.org'},
  noah: {name: 'Noah Keller', email: 'noah.keller@example.net'},
  mei: {name: 'Mei Tanaka', email: 'mei.tanaka@example.com'},
  olivia: {name: 'Olivia Hart', email: 'olivia.hart@example.org'},
  paul: {name: 'Paul Dubois', email: 'paul.dubois@example.com'},
  grace: {name: 'Grace Okafor', email: 'grace.okafor@example.net'},
}

const one = (name: string, cents: number) => ({name, quantity: 1, cents})

export const seedOrders: Seed[] = [
  {
    id: 'A17',
    customer: customers.lena,
    placedOn: '2026-11-14',
    status: 'delivered',
    note: 'Delivered on 20 November, left with a neighbour.',
    items: [one('Enamel mug', 1_800), one('Wool blanket', 2_800)],
  },
  {
    id: 'A18',
    customer: customers.jonas,
    placedOn: '2026-11-24',
    status: 'shipped',
    note: 'Handed to the carrier on 26 November.',
    items: [one('Packing cubes, set of three', 3_490)],
  },
  {
    id: 'A21',
    customer: customers.lena,
    placedOn: '2026-11-27',
    status: 'processing',
    note: '',
    items: [{name: 'Merino socks', quantity: 3, cents: 1_300}],
  },
  {
    id: 'B22',
    customer: customers.amira,
    placedOn: '2026-11-12',
    status: 'delivered',
    note: 'Delivered on 18 November. The carrier noted a dented box.',
    items: [one('Trail tent for two', 18_900), one('Ground sheet', 2_450)],
  },
  {
    id: 'B23',
    customer: customers.tomas,
    placedOn: '2026-11-19',
    status: 'delivered',
    note: 'Delivered on 25 November.',
    items: [{name: 'Dry bag, 20 litres', quantity: 2, cents: 2_790}],
  },
  {
    id: 'B31',
    customer: customers.sofie,
    placedOn: '2026-11-21',
    status: 'shipped',
    note: 'Held at customs since 25 November.',
    items: [one('Carbon hiking poles', 7_900), one('Rain cover', 1_950)],
  },
  {
    id: 'C05',
    customer: customers.noah,
    placedOn: '2026-11-03',
    status: 'returned',
    note: 'Came back on 13 November.',
    items: [one('Travel adapter', 2_490)],
  },
  {
    id: 'C09',
    customer: customers.mei,
    placedOn: '2026-11-10',
    status: 'delivered',
    note: 'Delivered on 16 November.',
    items: [one('Down jacket', 21_900)],
  },
  {
    id: 'C12',
    customer: customers.olivia,
    placedOn: '2026-11-08',
    status: 'delivered',
    note: 'Delivered on 14 November.',
    items: [one('Headlamp', 4_490)],
  },
  {
    id: 'D02',
    customer: customers.amira,
    placedOn: '2026-11-25',
    status: 'processing',
    note: '',
    items: [one('Camping stove', 6_400), {name: 'Gas cartridge', quantity: 2, cents: 790}],
  },
  {
    id: 'D07',
    customer: customers.paul,
    placedOn: '2026-11-17',
    status: 'delivered',
    note: 'Delivered on 22 November.',
    items: [one('Leather travel journal', 3_200)],
  },
  {
    id: 'D11',
    customer: customers.grace,
    placedOn: '2026-11-22',
    status: 'shipped',
    note: 'Out for delivery since 28 November.',
    items: [one('Cabin backpack, 40 litres', 12_900), one('Combination lock', 1_490)],
  },
  {
    id: 'E05',
    customer: customers.tomas,
    placedOn: '2026-11-16',
    status: 'delivered',
    note: 'Delivered on 23 November, two parcels.',
    items: [one('Expedition tent for four', 48_900), one('Footprint', 4_900)],
  },
]

/** Paid before this desk existed, so that a full and a partial refund can be seen from the start. */
export const seedRefunds = [
  {operation: 'before-1', orderId: 'C05', cents: 2_490, reason: 'Returned unused', at: '2026-11-13T10:20:00Z'},
  {operation: 'before-2', orderId: 'C12', cents: 1_000, reason: 'Scratched lens, kept', at: '2026-11-17T15:05:00Z'},
]
